/**
 * The hooks that are asked before a run ends by itself, with the answer of a model or of its stop tool.
 * Owns: which answers count, how often the end can be refused, the facts of the runs of these hooks.
 * Does not own: when a run ends (`thread/stop-conditions.ts`): a refusal is a turn of the same side that the answer forces, which wins over
 * these two conditions and over no limit.
 * Invariants:
 * E1: a refusal is committed with the answer that it refuses: its message, the forced turn and its count.
 * E2: a run ends after so many refusals, whatever its hooks say.
 * E3: a hook that fails refuses nothing.
 */
import { randomUUID } from 'node:crypto'

import type { RunEnding } from '../../definitions/hook.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { sidePlanOf } from '../../protocol/plan.js'
import type { Side } from '../../protocol/plan.js'
import type { StopReason } from '../../protocol/status.js'
import type { Micros } from '../../protocol/time.js'
import { appendMessage } from '../../store/messages/delivery.js'
import { amendOperation, findOperation, insertOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import { stepScope } from '../scope.js'
import { kindOf } from '../thread-state/strict-json.js'
import { asFields } from './hook-answers.js'
import { InvalidAnswer } from './hook-call.js'
import type { HookBatch } from './hook-batch.js'

/** How often the hooks of a run can refuse its end. */
const MOST_REFUSALS = 3

/** What is said about the end of a run. */
export interface RunEndVerdict {
  /** The message for the model; null: the run may end. */
  readonly refusal: string | null
  /** Who refuses: people do not read what the runtime says to the model. @default 'hook' */
  readonly sentBy?: 'runtime'
  /** It ends as failed, for this reason. */
  readonly ended?: StopReason
  /** For the workflow: the side goes on. */
  readonly operations: readonly ThreadOperation[]
  /** Writes the count and returns the facts, in the transaction of the answer (E1). */
  readonly record: (tx: Writer) => Promise<readonly Fact[]>
}

interface Ended {
  readonly threadId: string
  readonly side: Side
  readonly now: Micros
  readonly ending: RunEnding
}

/** The message of a refusal, as that of a person. */
export function refusalRow(content: string) {
  return { role: 'user', content, attachments: [], side: null, prompt: null } as const
}

/** Whether a text of this side, or this tool, ends a run with this plan: two agents end by their session only. */
export function endsRun(
  { plan }: PlanContent,
  { side, tool }: { readonly side: Side; readonly tool: string | null },
): boolean {
  const { stopOnResponse, stopTool } = sidePlanOf(plan, side)
  return plan.type === 'ai_human' && (tool === null ? stopOnResponse : tool === stopTool)
}

const MAY_END: RunEndVerdict = { refusal: null, operations: [], record: async () => [] }

/** Asks the hooks, in their order, until one refuses. */
export async function askRunEnd(
  store: Store,
  batch: HookBatch,
  { threadId, side, now, ending }: Ended,
): Promise<RunEndVerdict> {
  if (!batch.decides('before_run_end')) return MAY_END
  const id = `hook_run_end_${ending.run}`
  const known = await store.read((db) => findOperation(db, threadId, id))
  const refused = known === null ? 0 : Number(known.detail)
  const scope = stepScope(ending)
  if (refused >= MOST_REFUSALS) {
    const message = `Hooks have refused the end of this run ${MOST_REFUSALS} times, so it ends.`
    const warning = fact('runtime.warning', { code: 'end_refused_often', message }, scope)
    return { ...MAY_END, record: async () => [warning] }
  }
  const asked = await askEach(batch, ending)
  if (currentSignal().aborted) {
    assertStoppedByUser()
    return MAY_END
  }
  const refusal = asked.map(({ answer }) => answer).find((answer) => answer !== null) ?? null
  return {
    refusal,
    operations: refusal === null ? [] : [{ kind: 'force_turn', side }],
    async record(tx) {
      if (refusal !== null) await countRefusal(tx, { threadId, id, now, refused: refused + 1 })
      return factsOf(tx, asked)
    },
  }
}

/** Stores the message of a refusal behind the answer of a model. Returns the facts of the hooks and of the message. */
export async function storeRefusal(
  tx: Writer,
  { threadId, run, step, now }: Pick<Ended, 'threadId' | 'now'> & Pick<RunEnding, 'run' | 'step'>,
  { refusal, record, sentBy }: RunEndVerdict,
): Promise<readonly Fact[]> {
  const facts = await record(tx)
  if (refusal === null) return facts
  const id = randomUUID()
  const sender = sentBy === undefined ? { sentBy: 'hook' as const } : { sentBy, silent: true }
  await appendMessage(tx, { ...refusalRow(refusal), id, threadId, createdAt: now, ...sender, run, step })
  return [...facts, fact('message.created', { role: 'user' }, { ...stepScope({ run, step }), messageId: id })]
}

function askEach(batch: HookBatch, ending: RunEnding) {
  return batch.ask<'before_run_end', string>('before_run_end', {
    call: (execute, state) => execute(state, { ...ending }),
    accept: readAnswer,
    onFailure: () => null,
    describe: () => ({ decision: 'continue', isChanged: false }),
    failsClosed: false,
    ends: (answer) => answer !== null,
  })
}

/** Null: the run may end. @throws InvalidAnswer */
function readAnswer(answer: unknown): string | null {
  if (answer === undefined || answer === null) return null
  const { continue: text, ...others } = asFields(answer, 'null or { continue }')
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new InvalidAnswer(`Expected null or { continue }, got the field "${other}" too.`)
  if (typeof text !== 'string')
    throw new InvalidAnswer(`Expected continue to be a text, got ${kindOf(text)}.`)
  const bytes = Buffer.byteLength(text)
  if (text.trim() !== '' && bytes <= LIMITS.messageBytes) return text
  throw new InvalidAnswer(
    `Expected continue to be a text of 1 to ${LIMITS.messageBytes} bytes, got ${bytes}.`,
  )
}

interface Refused {
  readonly threadId: string
  readonly id: string
  readonly now: Micros
  readonly refused: number
}

/** Counts under an operation that no activity looks for. */
export async function countRefusal(tx: Writer, { threadId, id, now, refused }: Refused): Promise<void> {
  if (refused > 1) return amendOperation(tx, { threadId, id, detail: refused })
  await insertOperation(tx, {
    ...{ thread_id: threadId, id, kind: 'hook', state: 'finished', attempt: 1 },
    ...{ started_at: now, finished_at: now, detail: refused },
  })
}

async function factsOf(tx: Writer, asked: Awaited<ReturnType<typeof askEach>>): Promise<readonly Fact[]> {
  const facts: Fact[] = []
  for (const one of asked) facts.push(...(await one.facts(tx)))
  return facts
}
