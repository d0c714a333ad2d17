type Query = { expr: string; legend?: string };
type Panel = { title: string; unit: string; queries: Query[]; kind?: 'stat'; limits?: Limits };
/** From where on a figure is yellow, and red; the other way round where less is worse. */
type Limits = { warning: number; alarm: number };
export type Dashboard = { uid: string; title: string; panels: Panel[] };

export const panel = (title: string, unit: string, ...queries: [string, string?][]): Panel => ({
  title,
  unit,
  queries: queries.map(([expr, legend]) => ({ expr, ...(legend ? { legend } : {}) })),
});
export const stat = (title: string, unit: string, expr: string): Panel => ({
  title,
  unit,
  queries: [{ expr }],
  kind: 'stat',
});

const [WIDTH, HEIGHT] = [12, 8];
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

export const within = (warning: number, alarm: number, of: Panel): Panel => ({ ...of, limits: { warning, alarm } });

/** Our metrics in an expression; what a `by (...)` names are labels. */
const METRIC =
  /\b(?:by|without|on) \([^)]*\)|\b((?:mayfly|http_server|db_client|nodejs|process)[_:][\w:]*)(?:\{([^}]*)\})?/g;

/** The expression for what the dashboard's variables have chosen. An installation without these labels is chosen by "All". */
export function chosen(expr: string): string {
  return expr.replaceAll(METRIC, (whole, name?: string, labels = '') =>
    name ? `${name}{${labels}${labels && ','}cluster=~"$cluster",namespace=~"$namespace"}` : whole,
  );
}

function steps(limits: Limits | undefined) {
  if (!limits) return [{ color: 'green', value: null }];
  const { warning, alarm } = limits;
  const rising = [
    { color: 'green', value: null },
    { color: 'yellow', value: warning },
    { color: 'red', value: alarm },
  ];
  const falling = [
    { color: 'red', value: null },
    { color: 'yellow', value: alarm },
    { color: 'green', value: warning },
  ];
  return warning < alarm ? rising : falling;
}

const variable = (name: string, label: string, definition: string) => ({
  name,
  label,
  type: 'query',
  datasource: DATASOURCE,
  query: { query: definition, refId: name },
  definition,
  refresh: 2,
  includeAll: true,
  allValue: '.*',
  multi: true,
  current: { text: 'All', value: '$__all' },
});

/** The dashboard as Grafana reads it: two panels in a row. */
export function grafanaJson({ uid, title, panels }: Dashboard): string {
  const placed = panels.map(({ title: name, unit, queries, kind, limits }, index) => ({
    id: index + 1,
    title: name,
    type: kind ?? 'timeseries',
    datasource: DATASOURCE,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        thresholds: { mode: 'absolute', steps: steps(limits) },
        ...(limits && !kind ? { custom: { thresholdsStyle: { mode: 'line' } } } : {}),
      },
      overrides: [],
    },
    targets: queries.map(({ expr, legend = '' }, number) => ({
      refId: String.fromCharCode(65 + number),
      datasource: DATASOURCE,
      expr: chosen(expr),
      legendFormat: legend,
    })),
  }));
  const dashboard = {
    uid,
    title,
    tags: ['mayfly'],
    schemaVersion: 41,
    editable: false,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    links: [{ title: 'Mayfly', type: 'dashboards', tags: ['mayfly'], includeVars: true, keepTime: true }],
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
        variable('cluster', 'Cluster', 'label_values(process_memory_usage{service_name=~"mayfly-.*"}, cluster)'),
        variable(
          'namespace',
          'Namespace',
          'label_values(process_memory_usage{service_name=~"mayfly-.*",cluster=~"$cluster"}, namespace)',
        ),
      ],
    },
    panels: placed,
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}
