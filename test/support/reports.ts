import { type Api, call } from './api.ts';

/** A client of the endpoints of reports. */
export class ReportsApi {
  readonly api: Api;
  constructor(api: Api) {
    this.api = api;
  }

  report(id: string, json: unknown = { kind: 'malware', text: 'It wants to be installed.' }) {
    return call('POST', `${this.api.baseUrl}/api/report/${id}`, { json });
  }

  notice(id: string) {
    return call('GET', `${this.api.baseUrl}/api/notice/${id}`);
  }

  own(kind: 'upload' | 'note', id: string, ownerToken: string) {
    return call('GET', `${this.api.baseUrl}/api/own/${kind}/${id}`, { headers: { 'X-Owner-Token': ownerToken } });
  }
}
