/**
 * The hooks that decide about a call: what they say before it begins, and what they answer in the place of a person.
 * Owns: which of their answers count, and the facts of their runs.
 * Does not own: how opinions combine (`policy/judge.ts`), when a call is judged (`tool/permit.ts`), and how a hook is called
 * (`hook-batch.ts`).
 * Invariants:
 * D1: a hook that throws, hangs, answers something else or is on no worker denies the call: no error lets one through.
 * D2: these hooks change nothing, so an attempt that judges the call again finds no trace of the first one.
 * D3: each run has its facts, in the transaction that decides about the call.
 */
import type { CallPoint, HookPoints } from '../../definitions/hook.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { Opinion } from '../../policy/judge.js'
import type { Effect } from '../../policy/permissions.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Writer } from '../../store/store.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import { kindOf } from '../thread-state/strict-json.js'
import { asFields } from './hook-answers.js'
import { InvalidAnswer } from './hook-call.js'
import type { HookBatch } from './hook-batch.js'

interface Verdict {
  readonly opinions: readonly Opinion[]
  /** A stop of the run came first, so nothing counts. */
  readonly isStopped: boolean
  /** The facts of the hooks (D3). */
  readonly facts: HookFacts
}

/** Writes what operators read about failures, and returns the facts of the hooks that were asked. */
export type HookFacts = (tx: Writer) => Promise<readonly Fact[]>

/**
 * Asks the hooks of a point, in their order, until one denies; in the place of a person, until one answers.
 * @throws `Worker.Shutdown` if the worker is shutting down: another attempt follows
 */
export async function askHooks<Point extends CallPoint>(
  batch: HookBatch,
  point: Point,
  call: (execute: HookPoints[Point], state: ThreadState) => unknown,
): Promise<Verdict> {
  const asked = await askEach(batch, point, call)
  if (currentSignal().aborted) {
    assertStoppedByUser()
    return { opinions: [], isStopped: true, facts: async () => [] }
  }
  return {
    opinions: asked.flatMap(({ answer }) => (answer === null ? [] : [answer])),
    isStopped: false,
    facts: (tx) => factsOf(tx, asked),
  }
}

function askEach<Point extends CallPoint>(
  batch: HookBatch,
  point: Point,
  call: (execute: HookPoints[Point], state: ThreadState) => unknown,
) {
  return batch.ask<Point, Opinion>(point, {
    call,
    accept: (answer, hook) => readAnswer(point, { answer, hook }),
    onFailure: (hook) => ({ source: 'hook', hook, effect: 'deny' }),
    decisionOf: ({ effect }) => effect,
    failsClosed: true,
    ends: (said) => said !== null && (said.effect === 'deny' || point === 'before_permission_request'),
  })
}

const ANSWERS: Readonly<Record<CallPoint, readonly Effect[]>> = {
  before_tool_call: ['allow', 'require_approval', 'deny'],
  before_permission_request: ['allow', 'deny'],
}

/** Null: the hook says nothing. @throws InvalidAnswer */
function readAnswer(
  point: CallPoint,
  { answer, hook }: { readonly answer: unknown; readonly hook: string },
): Opinion | null {
  if (answer === undefined || answer === null) return null
  const wanted = `null or { effect: ${ANSWERS[point].join(' | ')}, reason }`
  const { effect, reason, ...others } = asFields(answer, wanted)
  const known = ANSWERS[point].find((one) => one === effect)
  if (known === undefined) throw new InvalidAnswer(`Expected ${wanted}, got another effect.`)
  if (reason !== undefined && typeof reason !== 'string')
    throw new InvalidAnswer(`Expected the reason to be a text, got ${kindOf(reason)}.`)
  const [other] = Object.keys(others)
  if (other !== undefined) throw new InvalidAnswer(`Expected ${wanted}, got the field "${other}" too.`)
  return { source: 'hook', hook, effect: known, ...(reason === undefined ? {} : { reason }) }
}

async function factsOf(tx: Writer, asked: Awaited<ReturnType<typeof askEach>>): Promise<readonly Fact[]> {
  const facts: Fact[] = []
  for (const { hook, scope, hasFailed, facts: factsOfRun } of asked) {
    facts.push(...(await factsOfRun(tx)))
    const message = `The hook "${hook}" failed, so the call was denied.`
    if (hasFailed) facts.push(fact('runtime.warning', { code: 'hook_denied', message }, scope))
  }
  return facts
}
