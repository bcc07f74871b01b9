/** Each view of a recorded thread, a line an event. A change of a line is a change of what readers of the view get. */
import { expect, test } from 'vitest'
import { viewOf } from '../support/view-rules.js'
import { everything, SUBJECT } from './recorded.js'

/** Ids that each recording makes anew, by the order in which they come. */
function stable(text: string): string {
  const known = new Map<string, string>()
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => {
    const name = known.get(id) ?? `id${known.size + 1}`
    known.set(id, name)
    return name
  })
}

type Cell = string | number | undefined

function linesOf(rows: readonly (readonly Cell[])[]): string {
  return `${stable(rows.map((row) => row.map((cell) => cell ?? '-').join(' ')).join('\n'))}\n`
}

test('the Agent Runtime view has its classes and ids', async () => {
  const rows = viewOf('ar', SUBJECT, everything()).map((event) => [
    ...[event.sequence, event.type, event.turnId, event.runId, event.stepId, event.toolCallId],
    ...[event.actionId, event.subagentId, Object.keys(event.payload).join()],
  ])
  await expect(linesOf(rows)).toMatchFileSnapshot('golden/everything.ar.txt')
})

test('the view of Kore.ai has its types and fields', async () => {
  const rows = viewOf('kp', SUBJECT, everything()).map(
    ({ eventId: _id, timestamp: _at, sessionId: _session, threadId: _thread, ...event }) => [
      JSON.stringify({ ...event, ...('latency' in event && { latency: typeof event.latency }) }),
    ],
  )
  await expect(linesOf(rows)).toMatchFileSnapshot('golden/everything.kp.txt')
})

test('the view of Protolink has its sequence, types, summaries and final events', async () => {
  const rows = viewOf('pl', SUBJECT, everything()).map(
    ({ sequence, type, summary, final, severity, step }) => [
      ...[sequence, type, severity, step, final ? 'final' : '-', summary],
    ],
  )
  await expect(linesOf(rows)).toMatchFileSnapshot('golden/everything.pl.txt')
})

test('the view of OpenTelemetry has its spans, records and attributes', async () => {
  const rows = viewOf('otel', SUBJECT, everything()).map((record) => [
    record.signal,
    record.signal === 'span'
      ? `${record.name} ${record.status}`
      : `${record.eventName} ${record.severityText}`,
    JSON.stringify(record.attributes),
  ])
  await expect(linesOf(rows)).toMatchFileSnapshot('golden/everything.otel.txt')
})
