import { createNoopMeter, metrics } from '@opentelemetry/api'
import type { Counter, Histogram, Meter, MeterProvider, UpDownCounter } from '@opentelemetry/api'

export interface Instruments {
  readonly tokens: Histogram
  readonly modelSeconds: Histogram
  readonly firstTokenSeconds: Histogram
  readonly toolSeconds: Histogram
  readonly runSeconds: Histogram
  readonly steps: Counter
  readonly toolCalls: Counter
  readonly waits: Counter
  readonly subscribers: UpDownCounter
}

/** The boundaries of the conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/ */
const TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
/** A run may wait for people. */
const LONG_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400, 604_800]

const NO_METER = createNoopMeter()
const made = new WeakMap<MeterProvider, Instruments>()

/** True if an SDK collects metrics. */
export function isMetering(): boolean {
  return metrics.getMeter('everthread') !== NO_METER
}

/**
 * Creates the instruments once for each provider: unlike tracers, meters of the API stay inactive if an SDK comes
 * later.
 */
export function instruments(): Instruments {
  const provider = metrics.getMeterProvider()
  const known = made.get(provider)
  if (known !== undefined) return known
  const fresh = makeInstruments(provider.getMeter('everthread'))
  made.set(provider, fresh)
  return fresh
}

function makeInstruments(meter: Meter): Instruments {
  const histogram = (name: string, unit: string, boundaries: readonly number[]): Histogram =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: [...boundaries] } })
  const counter = (name: string, unit: string): Counter => meter.createCounter(name, { unit })
  return {
    tokens: histogram('gen_ai.client.token.usage', '{token}', TOKENS),
    modelSeconds: histogram('gen_ai.client.operation.duration', 's', SECONDS),
    firstTokenSeconds: histogram('gen_ai.client.operation.time_to_first_chunk', 's', SECONDS),
    toolSeconds: histogram('gen_ai.execute_tool.duration', 's', SECONDS),
    runSeconds: histogram('gen_ai.invoke_agent.duration', 's', LONG_SECONDS),
    steps: counter('everthread.steps', '{step}'),
    toolCalls: counter('everthread.tool_calls', '{call}'),
    waits: counter('everthread.waits', '{wait}'),
    subscribers: meter.createUpDownCounter('everthread.subscribers', { unit: '{subscriber}' }),
  }
}
