import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '@mayfly/local-stores/find-program';
import { parse, parseAllDocuments } from 'yaml';

/** A Kubernetes object as it stands in a manifest. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; [field: string]: unknown };
  // biome-ignore lint/suspicious/noExplicitAny: what is below is what the schemas are there to check
  [field: string]: any;
};

type Generator = { name: string; behavior?: string; envs?: string[]; literals?: string[] };

type Patch = { target: { kind: string; labelSelector: string }; patch: string };
type Part = { delimiter: string; index: number };
type Selector = { kind: string; name: string };
type Replacement = {
  source: Selector & { fieldPath: string; options: Part };
  targets: { select: Selector; fieldPaths: string[]; options: Part }[];
};

/** What of kustomize these manifests use. Another key is an error here, so that this never says something else than kustomize. */
const KNOWN = [
  'apiVersion',
  'kind',
  'namespace',
  'resources',
  'components',
  'patches',
  'images',
  'replacements',
  'configMapGenerator',
  'secretGenerator',
];

/**
 * Renders an overlay as `kubectl kustomize` does, but for the hashes at the end of generated names. It needs nothing installed; a
 * test compares the two where kubectl is there.
 */
export function render(folder: string, before: Manifest[] = []): Manifest[] {
  const path = join(folder, 'kustomization.yaml');
  const file = parse(readFileSync(path, 'utf8'));
  const unknown = Object.keys(file).filter((key) => !KNOWN.includes(key));
  if (unknown.length > 0) throw new Error(`${path}: test/kubernetes/render.ts does not know ${unknown.join(', ')} yet`);

  let all = [...before];
  for (const name of (file.resources ?? []) as string[]) all.push(...load(join(folder, name)));
  for (const name of (file.components ?? []) as string[]) all = render(join(folder, name), all);
  for (const one of (file.configMapGenerator ?? []) as Generator[]) generate(all, folder, 'ConfigMap', one);
  for (const one of (file.secretGenerator ?? []) as Generator[]) generate(all, folder, 'Secret', one);
  for (const one of (file.patches ?? []) as Patch[]) patch(all, one);
  for (const { name, newName = name, newTag } of (file.images ?? []) as Record<string, string>[]) {
    for (const container of all.flatMap(containersOf)) {
      if (container.image === name) container.image = newTag ? `${newName}:${newTag}` : newName;
    }
  }
  for (const one of (file.replacements ?? []) as Replacement[]) replace(all, one, path);
  if (file.namespace) for (const one of all) if (one.kind !== 'Namespace') one.metadata.namespace = file.namespace;
  return all;
}

function load(path: string): Manifest[] {
  if (statSync(path).isDirectory()) return render(path);
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors.join('; ')}`);
    return document.toJS() as Manifest;
  });
}

function generate(all: Manifest[], folder: string, kind: 'ConfigMap' | 'Secret', one: Generator) {
  const lines = (one.envs ?? []).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  const entries = [...lines.filter((line) => line !== '' && !line.startsWith('#')), ...(one.literals ?? [])];
  const data = Object.fromEntries(
    entries.map((entry) => [entry.split('=', 1)[0], entry.slice(entry.indexOf('=') + 1)]),
  );
  const encoded = kind === 'Secret' ? mapValues(data, (value) => Buffer.from(value).toString('base64')) : data;
  const existing = all.find((other) => other.kind === kind && other.metadata.name === one.name);
  if (one.behavior === 'merge' && existing) Object.assign(existing.data, encoded);
  else if (one.behavior || existing) throw new Error(`${folder}: ${one.name} cannot be generated like that`);
  else
    all.push({
      apiVersion: 'v1',
      kind,
      metadata: { name: one.name },
      data: encoded,
      ...(kind === 'Secret' ? { type: 'Opaque' } : {}),
    });
}

/** Adds fields, or entries to the end of lists: all that these patches do. */
function patch(all: Manifest[], { target, patch: text }: Patch) {
  const [label = '', value] = target.labelSelector.split('=');
  const isMeant = ({ kind, metadata }: Manifest) =>
    target.kind.split('|').includes(kind) && metadata.labels?.[label] === value;
  for (const one of all.filter(isMeant)) {
    for (const { op, path, value } of parse(text)) {
      const steps = path.slice(1).split('/');
      const last = steps.pop() ?? '';
      const place = at(one, steps);
      if (op !== 'add') throw new Error(`test/kubernetes/render.ts does not know the operation ${op} yet`);
      if (Array.isArray(place) && last === '-') place.push(value);
      else place[last] = value;
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: any place of any object
const at = (object: any, steps: string[]) => steps.reduce((inner, step) => inner[step], object);

/** A part of one field takes the place of a part of others. */
function replace(all: Manifest[], { source, targets }: Replacement, path: string) {
  const find = ({ kind, name }: Selector) => {
    const found = all.find((one) => one.kind === kind && one.metadata.name === name);
    if (!found) throw new Error(`${path}: there is no ${kind} ${name} to replace something in, or by`);
    return found;
  };
  const value = at(find(source), source.fieldPath.split('.')).split(source.options.delimiter)[source.options.index];
  for (const { select, fieldPaths, options } of targets) {
    const target = find(select);
    for (const fieldPath of fieldPaths) {
      const steps = fieldPath.split('.');
      const last = steps.pop() ?? '';
      const place = at(target, steps);
      place[last] = place[last].split(options.delimiter).with(options.index, value).join(options.delimiter);
    }
  }
}

const mapValues = (record: Record<string, string>, change: (value: string) => string) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

/** The pod that an object makes; undefined when it makes none. */
export function podOf(manifest: Manifest) {
  return manifest.kind === 'Pod' ? manifest : manifest.spec?.template;
}

/** Every container of the pods that an object makes. */
export function containersOf(manifest: Manifest) {
  const spec = podOf(manifest)?.spec;
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
}

export const kubectl = findProgram(['kubectl']);

/** What kustomize itself makes of a folder, its hashes taken away. */
export function renderByKubectl(folder: string): Manifest[] {
  if (!kubectl) throw new Error('kubectl is not on the PATH');
  const text = execFileSync(kubectl, ['kustomize', folder], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const generated = [...text.matchAll(/^kind: (?:ConfigMap|Secret)\nmetadata:\n(?: {2}.*\n)*? {2}name: (\S+)$/gm)].map(
    ([, name = '']) => name,
  );
  const plain = generated.reduce((all, name) => all.replaceAll(name, name.replace(/-[a-z0-9]{10}$/, '')), text);
  return parseAllDocuments(plain).map((document) => document.toJS() as Manifest);
}
