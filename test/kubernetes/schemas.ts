import type { Manifest } from './render.ts';

/** A kind as kubernetes-models has it: `validate` reads every field that the kind's schema knows, and throws what it finds. */
type Model = new (manifest: Manifest) => { validate(): void };

/** Groups that operators bring; the others are Kubernetes' own. */
const EXTENSIONS: Record<string, string> = {
  'cert-manager.io': '@kubernetes-models/cert-manager',
  'external-secrets.io': '@kubernetes-models/external-secrets',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'generators.external-secrets.io': '@kubernetes-models/external-secrets',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
};

async function modelOf({ apiVersion, kind }: Manifest): Promise<Model | undefined> {
  const [group = ''] = apiVersion.split('/');
  try {
    return (await import(`${EXTENSIONS[group] ?? 'kubernetes-models'}/${apiVersion}`))[kind];
  } catch {
    return undefined; // no such group or version
  }
}

/** Everything about an object that its API server would object to, unknown fields included. */
export async function problemsOf(manifest: Manifest): Promise<string[]> {
  const Model = await modelOf(manifest);
  if (!Model) return [`there is no ${manifest.kind} in ${manifest.apiVersion}`];
  const read = new Set<string>();
  const wrong: string[] = [];
  try {
    (watched(new Model(manifest), '', read) as InstanceType<Model>).validate();
  } catch (error) {
    wrong.push((error as Error).message);
  }
  const unknown = fieldsOf(manifest, '').filter((path) => !read.has(path));
  return [...wrong, ...unknown.map((path) => `${path} is not a field`)];
}

/** The same object, which remembers the fields that somebody looked at: a schema's check looks at all that it knows. */
function watched(value: unknown, path: string, read: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const inner = Reflect.get(target, key);
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return inner;
      read.add(`${path}/${key}`);
      return watched(inner, `${path}/${key}`, read);
    },
  });
}

function fieldsOf(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [`${path}/${key}`, ...fieldsOf(inner, `${path}/${key}`)]);
}
