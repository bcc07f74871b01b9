import { wordOf } from './share.js'
import type { Failure, ShareResult } from './share.js'

export interface Summary {
  readonly seed: number
  readonly results: readonly ShareResult[]
  readonly seconds: number
  readonly failed: boolean
}

/** One object a line, as the benches print them. */
export function printJson(summary: Summary): void {
  const figures: readonly (readonly [string, number, string])[] = [
    ['schedules', schedulesOf(summary), 'schedules'],
    ['failures', summary.failed ? 1 : 0, 'schedules'],
    ['schedules_per_second', perSecond(summary), '1/s'],
    ...[...seenIn(summary)].map(([what, count]) => [`seen ${what}`, count, 'times'] as const),
  ]
  for (const [figure, value, unit] of figures)
    console.log(JSON.stringify({ bench: 'simulate', figure, value, unit }))
}

/** What was explored, for people: a simulator that explores nothing is seen here. */
export function printTable(summary: Summary): void {
  const seen = [...seenIn(summary)]
  const width = Math.max(0, ...seen.map(([what]) => what.length))
  for (const [what, count] of seen) console.log(`${what.padEnd(width)}  ${count}`)
  const { seed, seconds, failed } = summary
  console.log(
    `\n${schedulesOf(summary)} schedules from seed ${seed} in ${seconds.toFixed(1)} s (${perSecond(summary)}/s): ` +
      (failed ? 'a rule is broken' : 'no rule is broken'),
  )
}

/** The rule, what happened in order, and the word that repeats it. */
export function printFailure({ seed, broken, choices, story }: Failure): void {
  for (const line of story) console.error(line)
  console.error(`\nBroken: ${broken.rule}\n${broken.detail}`)
  if (seed !== null) console.error(`The whole schedule: npm run simulate -- --schedules 1 --seed ${seed}`)
  console.error(
    `The shortest that was found, of ${choices.length} choices: npm run simulate -- --replay ${wordOf(choices)}`,
  )
}

function schedulesOf({ results }: Summary): number {
  return results.reduce((sum, { done }) => sum + done, 0)
}

function perSecond(summary: Summary): number {
  return summary.seconds === 0 ? 0 : Math.round(schedulesOf(summary) / summary.seconds)
}

function seenIn({ results }: Summary): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  for (const { seen } of results)
    for (const [what, count] of seen) all.set(what, (all.get(what) ?? 0) + count)
  return new Map([...all].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
