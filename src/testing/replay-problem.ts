import type { RecordedHistory } from './assert-replays.js'

interface KeptEvent {
  readonly eventId?: unknown
  readonly eventType?: unknown
  readonly [attributes: string]: unknown
}

interface Named {
  readonly activityType?: { readonly name?: unknown } | null
  readonly workflowType?: { readonly name?: unknown } | null
  readonly workflowId?: unknown
  readonly timerId?: unknown
}

/** What is wrong with one history: where it is kept, which run, which event, and Temporal's own words. */
export function replayProblem(run: RecordedHistory, error: Error): string {
  const words = wordsOf(error)
  return `- ${placeOf(run)}, ${eventOf(run, words)}:\n  ${words}`
}

/** All of them, and what to do about it. */
export function replayProblems(replayed: number, problems: readonly string[]): string {
  return [
    `Expected ${replayed} histories to replay, got ${problems.length} that do not:`,
    ...problems,
    'Threads with such a history would stand still on this version until one runs that replays it. What to do: ' +
      'if workflow code of yours was changed, guard the change with patched() of @temporalio/workflow; if Everthread was ' +
      'upgraded, stay on the version before and report the file (it holds no content); delete or record anew only ' +
      'histories of code that no open thread was started on.',
  ].join('\n')
}

function placeOf({ workflowId, runId, ...kept }: RecordedHistory): string {
  const { file, number, of } = kept as {
    readonly file?: string
    readonly number?: number
    readonly of?: number
  }
  const id = runId === undefined ? '' : `, Temporal's run id ${runId}`
  if (file === undefined) return `workflow ${workflowId}${id}`
  const workflow = workflowId === file ? '' : `, workflow ${workflowId}`
  return `${file}${workflow}, run ${number} of ${of}${id}`
}

/** Temporal's sentence, without the parts of its own machinery around it. */
function wordsOf({ message }: Error): string {
  const inner = /message: "((?:[^"\\]|\\.)*)"/.exec(message)?.[1]
  return (inner ?? message).replaceAll('\\"', '"').slice(0, MOST_WORDS)
}

const MOST_WORDS = 2_000

/** Temporal names it by its number, or by what it has in place of what the code asked for. */
function eventOf({ history }: RecordedHistory, words: string): string {
  const { events = [] } = (history ?? {}) as { readonly events?: readonly KeptEvent[] }
  const number = /HistoryEvent\(id: (\d+)/.exec(words)?.[1]
  const name = /scheduled event '([^']+)'/.exec(words)?.[1]
  const event = events.find((one) =>
    number === undefined ? name !== undefined && namesOf(one).includes(name) : String(one.eventId) === number,
  )
  if (event === undefined)
    return number === undefined ? 'at an event that Temporal does not name' : `event ${number}`
  const type = String(event.eventType).replace('EVENT_TYPE_', '')
  return `event ${String(event.eventId)} (${[type, ...namesOf(event)].join(' ')})`
}

function namesOf(event: KeptEvent): readonly string[] {
  const key = Object.keys(event).find((field) => field.endsWith('EventAttributes'))
  const { activityType, workflowType, workflowId, timerId } = ((key && event[key]) ?? {}) as Named
  const names = [activityType?.name, workflowType?.name, workflowId, timerId]
  return names.filter((name) => typeof name === 'string')
}
