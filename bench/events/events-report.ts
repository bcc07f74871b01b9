import type { BenchResult, Figure } from '../figure.js'
import { percentile } from '../percentile.js'
import type { Measured } from './measure-store.js'

const HEAD = ['case', 'store', 'p50 ms', 'p99 ms', 'max ms', 'tokens', 'seen', 'idle CPU %']

/** Percentiles of all tokens at all subscribers of each case. */
export function eventsReport(measured: readonly Measured[]): BenchResult {
  return {
    figures: [tokenToSubscriber(measured), ...measured.flatMap(figuresOf)],
    table: [HEAD, ...measured.map(lineOf)],
    notes: [
      'Milliseconds from the model, in the worker, to the subscriber in another process; a batch of up to 10 ms is in them.',
      'idle CPU: of the subscriber process while nothing happens, in percent of one core.',
      'How each figure is made: bench/README.md',
    ],
  }
}

/** Of one subscriber, on the store on which it takes longer. */
function tokenToSubscriber(measured: readonly Measured[]): Figure {
  const alone = measured.filter(({ subscribers }) => subscribers === 1)
  const value = Math.max(...alone.map(({ seen }) => percentile(seen, 0.5)))
  return { bench: 'events', figure: 'token_to_subscriber_p50_ms', value, unit: 'ms' }
}

function figuresOf({ store, name, seen, idleCpu, tokens }: Measured): readonly Figure[] {
  const figure = (what: string, value: number, unit: string): Figure => ({
    bench: 'events',
    figure: `${store}_${name.replaceAll(/\W+/g, '_')}_${what}`,
    value,
    unit,
  })
  return [
    figure('p50', percentile(seen, 0.5), 'ms'),
    figure('p99', percentile(seen, 0.99), 'ms'),
    figure('seen', seen.length / tokens, 'of tokens'),
    figure('idle_cpu', idleCpu * 100, '%'),
  ]
}

function lineOf({ store, name, seen, idleCpu, tokens }: Measured): readonly string[] {
  const times = [percentile(seen, 0.5), percentile(seen, 0.99), percentile(seen, 1)]
  return [
    name,
    store,
    ...times.map((time) => time.toFixed(1)),
    String(tokens),
    String(seen.length),
    (idleCpu * 100).toFixed(2),
  ]
}
