/** What npm start listens on unless HOST says otherwise. The processes themselves listen on all addresses, for containers. */
export const LOOPBACK = '127.0.0.1';

/** Who can reach a service that listens there, and how to change that. */
export function reach(host: string): string {
  if (/^(localhost|127\.[\d.]+|::1)$/i.test(host)) {
    return `Only this machine can reach it (HOST is ${host}). For others: HOST=0.0.0.0 npm start; their browsers need HTTPS in front of it.`;
  }
  const where = ['0.0.0.0', '::'].includes(host) ? 'on every address of this machine' : `on ${host}`;
  return `Other machines can reach it: it listens ${where} (HOST is ${host}). Their browsers need HTTPS in front of it; HOST=${LOOPBACK} keeps it to this machine.`;
}
