import type { Deed } from '../desk/deeds.js'
import type { ThreadRecord } from './thread-record.js'

/** What chaos met: a run in which nothing was cut proves nothing. */
export function countCut(
  records: readonly ThreadRecord[],
  deeds: readonly Deed[],
): Readonly<Record<string, number>> {
  const results = records.flatMap(({ rows }) => rows.filter(({ role }) => role === 'tool'))
  const ended = (words: string): number =>
    results.filter(({ content }) => content?.includes(words) === true).length
  const acted = deeds.flatMap((deed) =>
    deed.kind === 'tool' ? [`${deed.threadId} ${deed.callId} ${deed.tool}`] : [],
  )
  const reruns = acted.filter((call, index) => call.endsWith(' charge') && acted.indexOf(call) !== index)
  return {
    calls: results.length,
    unknown_calls: ended('outcome of this call is unknown'),
    interrupted_calls: ended('call was interrupted') + ended('call was cancelled'),
    rerun_calls: reruns.length,
  }
}
