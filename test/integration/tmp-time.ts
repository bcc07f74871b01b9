import type { Fixture } from './worker/fixture.js'
import { recordedRuns } from '../support/histories.js'
export async function timeline(fixture: Fixture, id: string) {
  const runs = await recordedRuns(fixture.threads.temporal, id)
  const out: string[] = []
  for (const { history } of runs) for (const e of history.events ?? []) {
    const t = e.eventTime!
    const attr = Object.entries(e).find(([k, v]) => k.endsWith('Attributes') && v) as [string, any]
    out.push(`${new Date(Number(t.seconds) * 1000 + Number(t.nanos) / 1e6).toISOString().slice(17, 23)} ${e.eventId} ${attr?.[0].replace('EventAttributes','')} ${attr?.[1]?.attempt ?? ''} ${attr?.[1]?.activityType?.name ?? ''} ${attr?.[1]?.identity ?? ''} ${attr?.[1]?.lastFailure?.message ?? ''} ${attr?.[1]?.timeoutType ?? ''} ${attr?.[1]?.taskQueue?.kind ?? ''}`)
  }
  console.log(new Date().toISOString(), id + '\n' + out.join('\n'))
}
