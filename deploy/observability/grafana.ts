type Query = { expr: string; legend?: string };
type Panel = { title: string; unit: string; queries: Query[]; kind?: 'stat' };
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

/** The dashboard as Grafana reads it: two panels in a row. */
export function grafanaJson({ uid, title, panels }: Dashboard): string {
  const datasource = { type: 'prometheus', uid: 'prometheus' };
  const placed = panels.map(({ title: name, unit, queries, kind }, index) => ({
    id: index + 1,
    title: name,
    type: kind ?? 'timeseries',
    datasource,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(({ expr, legend = '' }, number) => ({
      refId: String.fromCharCode(65 + number),
      datasource,
      expr,
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
    panels: placed,
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}
