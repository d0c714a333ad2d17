import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { metrics } from '@opentelemetry/api';

/** Event loop, memory and CPU of this process, under the names of the semantic conventions. Returns what ends it. */
export function observeRuntime(): () => void {
  const meter = metrics.getMeter('mayfly');
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  let before = performance.eventLoopUtilization();

  const p50 = meter.createObservableGauge('nodejs.eventloop.delay.p50', { unit: 's' });
  const p99 = meter.createObservableGauge('nodejs.eventloop.delay.p99', { unit: 's' });
  const max = meter.createObservableGauge('nodejs.eventloop.delay.max', { unit: 's' });
  const utilization = meter.createObservableGauge('nodejs.eventloop.utilization', { unit: '1' });
  const memory = meter.createObservableGauge('process.memory.usage', { unit: 'By' });
  const cpu = meter.createObservableCounter('process.cpu.time', { unit: 's' });
  meter.addBatchObservableCallback(
    (result) => {
      result.observe(p50, delay.percentile(50) / 1e9);
      result.observe(p99, delay.percentile(99) / 1e9);
      result.observe(max, delay.max / 1e9);
      delay.reset();
      const now = performance.eventLoopUtilization();
      result.observe(utilization, performance.eventLoopUtilization(now, before).utilization);
      before = now;
      result.observe(memory, process.memoryUsage.rss());
      const { user, system } = process.cpuUsage();
      result.observe(cpu, user / 1e6, { 'cpu.mode': 'user' });
      result.observe(cpu, system / 1e6, { 'cpu.mode': 'system' });
    },
    [p50, p99, max, utilization, memory, cpu],
  );
  return () => delay.disable();
}
