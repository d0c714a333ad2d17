import { expect, test } from 'vitest';
import { call } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

describeEachShape('the self-check of the client address', { TRUST_PROXY: '1' }, (service) => {
  const gateway = () => {
    const found = service.running.processes.find(({ name }) => name === 'gateway' || name === 'all');
    if (!found) throw new Error('there is no gateway');
    return found;
  };

  test('shows what arrived, which address was believed and who is counted', async () => {
    const headers = { 'X-Forwarded-For': '198.51.100.1, 2001:db8:1:2:3:4:5:6', 'X-Forwarded-Proto': 'https' };
    const answer = await call('GET', `${gateway().adminUrl}/client`, { headers });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        socket: '127.0.0.1',
        headers: { 'x-forwarded-for': headers['X-Forwarded-For'], 'x-forwarded-proto': 'https' },
        address: '2001:db8:1:2:3:4:5:6',
        client: '2001:db8:1:2::/64',
        limiterKey: expect.stringMatching(/^mayfly:rate:[A-Za-z0-9_-]{22}$/),
        baseUrl: expect.stringMatching(/^https:\/\//),
      },
    ]);
    const other = { 'X-Forwarded-For': '2001:db8:1:2:ffff::' };
    const sameClient = await call('GET', `${gateway().adminUrl}/client`, { headers: other });
    expect(sameClient.body.limiterKey).toBe(answer.body.limiterKey);
  });

  test('the public port does not route it, and the log holds none of it', async () => {
    expect((await call('GET', `${service.api.baseUrl}/client`)).status).toBe(404);
    expect((await call('GET', `${service.api.baseUrl}/api/config`)).status).toBe(200);
    expect(gateway().output()).not.toMatch(/198\.51\.100\.1|2001:db8|mayfly:rate/);
  });
});
