import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../config.ts';
import type { telemetrySettings } from '../settings.ts';
import { VERSION } from '../version.ts';
import { observeRuntime } from './runtime.ts';

export type Telemetry = AsyncDisposable & {
  /** Answers with all metrics as Prometheus text; undefined when there is no admin port to ask on. */
  scrape: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
};

const FLUSH_MS = 5_000;

/**
 * Turns on what a process is watched by: metrics as Prometheus text when it has an admin port, traces and metrics over
 * OTLP when OTEL_EXPORTER_OTLP_ENDPOINT is set. Open it before anything that measures; closing sends what is left.
 * Without either nothing is loaded, and what measures calls the API's empty functions.
 */
export async function openTelemetry(
  config: Config<typeof telemetrySettings> & { ADMIN_PORT: number | undefined },
  service: string,
  env: NodeJS.ProcessEnv,
): Promise<Telemetry> {
  const isOff = config.OTEL_SDK_DISABLED === 'true';
  const isExporting = !isOff && config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;
  const isScraped = !isOff && config.ADMIN_PORT !== undefined;
  if (!isExporting && !isScraped) return { scrape: undefined, async [Symbol.asyncDispose]() {} };

  const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const resource = resourceFromAttributes({
    'service.namespace': 'mayfly',
    'service.name': `mayfly-${service}`,
    'service.version': VERSION,
    'service.instance.id': randomUUID(),
  });
  const prometheus = isScraped
    ? new PrometheusExporter({ preventServerStart: true, withResourceConstantLabels: /^service\.name$/ })
    : undefined;
  const close = isExporting
    ? await startSdk({ resource, prometheus, ratio: config.OTEL_TRACES_SAMPLER_ARG, env })
    : await startMetrics({ resource, prometheus });
  const endRuntime = observeRuntime();
  return {
    scrape: prometheus && ((request, response) => prometheus.getMetricsRequestHandler(request, response)),
    async [Symbol.asyncDispose]() {
      endRuntime();
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, FLUSH_MS);
      // Best effort: a collector that is away must not keep the process.
      await Promise.race([close().catch(() => {}), late]);
      clearTimeout(timer);
    },
  };
}

type Parts = {
  resource: import('@opentelemetry/resources').Resource;
  prometheus: import('@opentelemetry/exporter-prometheus').PrometheusExporter | undefined;
};

/** Metrics only: a tenth of the memory of the whole SDK. */
async function startMetrics({ resource, prometheus }: Parts): Promise<() => Promise<void>> {
  const { metrics } = await import('@opentelemetry/api');
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  const provider = new MeterProvider({ resource, readers: prometheus ? [prometheus] : [] });
  metrics.setGlobalMeterProvider(provider);
  return () => provider.shutdown();
}

/** The SDK reads the standard OTEL_ variables itself: endpoint, headers, protocol, sampler, resource attributes. */
async function startSdk({ resource, prometheus, ratio, env }: Parts & { ratio: number; env: NodeJS.ProcessEnv }) {
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const { PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const { envDetector } = await import('@opentelemetry/resources');
  env.OTEL_TRACES_SAMPLER ??= 'parentbased_traceidratio';
  env.OTEL_TRACES_SAMPLER_ARG = String(ratio);
  env.OTEL_LOGS_EXPORTER ??= 'none'; // logs go to standard output
  const pushed = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() });
  const sdk = new NodeSDK({
    resource,
    resourceDetectors: [envDetector], // not those that name the host, its user or the command line
    metricReaders: prometheus ? [prometheus, pushed] : [pushed],
    instrumentations: [],
  });
  sdk.start();
  return () => sdk.shutdown();
}
