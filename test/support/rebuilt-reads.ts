import type { ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import { fold } from '../../src/fold/index.js'
import { comparable } from './folded.js'

interface Row {
  readonly id: string | undefined
  readonly role: string
  readonly content: string | null
}

/** What a reader makes of the events of a thread alone. */
export function madeOf(events: readonly ThreadEvent[]) {
  const folded = fold(events)
  const of = <Type extends ThreadEvent['type']>(type: Type) =>
    events.filter((event): event is Extract<ThreadEvent, { readonly type: Type }> => event.type === type)
  const files = new Map(of('file.changed').map(({ payload }) => [payload.path, payload]))
  // The row of a result is told by the event of its call.
  const rows = events.flatMap<Row>(({ type, messageId: id, payload }) => {
    if (type === 'tool.result') return [{ id, role: 'tool', content: payload.preview }]
    return type === 'message.created'
      ? [{ id, role: payload.role, content: payload.message?.content ?? null }]
      : []
  })
  // A call of which nothing was said is allowed, and is judged when it begins.
  const judged = [...of('permission.evaluated'), ...of('tool.started')].map(({ toolCallId }) => toolCallId)
  const used = of('model.completed').map(({ payload }) => payload.usage)
  return {
    state: comparable(folded),
    queue: folded.queue.map(({ id }) => id),
    children: folded.children.map(({ reference }) => reference),
    requests: folded.pending.map(({ id }) => id),
    lastRun: folded.lastRun?.reason ?? null,
    transcript: rows,
    files: [...files.values()].filter(({ change }) => change !== 'removed').map(({ path }) => path),
    calls: of('tool.result').map(({ toolCallId, payload }) => [toolCallId, payload.outcome]),
    decided: new Set(judged),
    model: of('model.requested').at(-1)?.payload.model ?? null,
    usage: {
      ...{ messages: rows.length, runs: of('run.started').length },
      steps: of('step.started').length,
      inputTokens: used.reduce((sum, usage) => sum + usage.inputTokens, 0),
      outputTokens: used.reduce((sum, usage) => sum + usage.outputTokens, 0),
    },
  }
}

/** The same from the read models. */
export async function readOf(thread: ThreadHandle): Promise<ReturnType<typeof madeOf>> {
  const [snapshot, queue, children] = [await thread.snapshot(), await thread.queue(), await thread.children()]
  const { messages } = await thread.messages({ limit: 1000, includeSilent: true })
  const decisions = await thread.decisions()
  const calls = await Promise.all(decisions.map(({ toolCallId }) => thread.toolCall(toolCallId)))
  const { messages: count, runs, steps, inputTokens, outputTokens } = await thread.usage()
  return {
    state: comparable(fold(snapshot, [])),
    queue: queue.items.map(({ id }) => id),
    children: children.children.map(({ reference }) => reference),
    requests: snapshot.pending.map(({ id }) => id),
    lastRun: (await thread.result())?.reason ?? null,
    transcript: messages
      .filter(({ position }) => position !== null)
      .map(({ id, role, content }) => ({ id, role, content })),
    files: (await thread.artifacts()).newest.map(({ path }) => path),
    calls: calls.flatMap((call) =>
      call === null || call.status === 'open' ? [] : [[call.toolCallId, call.status]],
    ),
    decided: new Set(decisions.map(({ toolCallId }) => toolCallId)),
    model: (await thread.routing()).choice?.model ?? null,
    usage: { messages: count, runs, steps, inputTokens, outputTokens },
  }
}
