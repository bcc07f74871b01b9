/**
 * The hooks that decide about a call: what they say before it begins, and what they answer in the place of a person.
 * Owns: which of their answers count, which arguments they give to the call, and the facts of their runs.
 * Does not own: how opinions combine (`policy/judge.ts`), when a call is judged (`tool/permit.ts`), and how a hook is called
 * (`hook-batch.ts`).
 * Invariants:
 * D1: a hook that throws, hangs, answers something else or is on no worker denies the call: no error lets one through.
 * D2: these hooks change nothing but the arguments, so an attempt that judges the call again finds no trace of the first one.
 * D3: each run has its facts, in the transaction that decides about the call.
 * D4: every hook has judged the arguments with which the call goes on: behind a change those before it are asked again, and may
 *     change nothing any more.
 */
import { isDeepStrictEqual } from 'node:util'

import type { CallPoint, HookPoints } from '../../definitions/hook.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { Opinion } from '../../policy/judge.js'
import type { Effect } from '../../policy/permissions.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Writer } from '../../store/store.js'
import { assertStoppedByUser, currentSignal } from '../activity.js'
import { LIMITS } from '../../protocol/limits.js'
import { jsonObjectCopy, kindOf } from '../thread-state/strict-json.js'
import { asFields } from './hook-answers.js'
import { InvalidAnswer } from './hook-call.js'
import type { HookBatch } from './hook-batch.js'

interface Verdict {
  readonly opinions: readonly Opinion[]
  /** Null: they are those that the hooks were given. */
  readonly changed: ChangedArguments | null
  /** A stop of the run came first, so nothing counts. */
  readonly isStopped: boolean
  /** The facts of the hooks (D3). */
  readonly facts: HookFacts
}

/** The arguments that hooks have put in the place of others. */
export interface ChangedArguments {
  /** As JSON, for the row of the call. */
  readonly text: string
  /** Checked by the schema of the tool. */
  readonly args: Record<string, unknown>
  /** The hooks that changed them, in the order of their first change. */
  readonly by: readonly string[]
}

/** Writes what operators read about failures, and returns the facts of the hooks that were asked. */
export type HookFacts = (tx: Writer) => Promise<readonly Fact[]>

interface AskedAbout<Point extends CallPoint> {
  readonly point: Point
  /** The arguments of the call. */
  readonly args: Record<string, unknown>
  /** Checks arguments by the schema of what is called. */
  readonly parse: ParseArguments
  /** False: the arguments must stay as they are. */
  readonly mayChange: boolean
  readonly call: (execute: HookPoints[Point], state: ThreadState, args: Record<string, unknown>) => unknown
}

export type ParseArguments = (
  text: string,
) =>
  | { readonly ok: true; readonly args: Record<string, unknown> }
  | { readonly ok: false; readonly problem: string }

/**
 * Asks the hooks of a point, in their order, until one denies; in the place of a person, until one answers.
 * @throws `Worker.Shutdown` if the worker is shutting down: another attempt follows
 */
export async function askHooks<Point extends CallPoint>(
  batch: HookBatch,
  about: AskedAbout<Point>,
): Promise<Verdict> {
  const first = await askEach(batch, about)
  const last = first.asked.findLastIndex(({ answer }) => answer?.given !== undefined)
  const isDenied = first.asked.some(({ answer }) => answer?.opinion?.effect === 'deny')
  const earlier = isDenied ? [] : first.asked.slice(0, Math.max(0, last)).map(({ hook }) => hook)
  const again = { ...about, args: first.args, mayChange: false, among: earlier }
  const { asked: second } = earlier.length === 0 ? { asked: [] } : await askEach(batch, again)
  if (currentSignal().aborted) {
    assertStoppedByUser()
    return { opinions: [], changed: null, isStopped: true, facts: async () => [] }
  }
  const asked = [...first.asked, ...second]
  const { args, text } = first
  const by = [...new Set(asked.flatMap(({ hook, answer }) => (answer?.given === undefined ? [] : [hook])))]
  return {
    opinions: asked.flatMap(({ answer }) => answer?.opinion ?? []),
    changed: text === null ? null : { text, args, by },
    isStopped: false,
    facts: (tx) => factsOf(tx, asked),
  }
}

/** What a hook answered; an answer with neither says nothing. */
interface CallAnswer {
  readonly opinion?: Opinion
  /** Other arguments, as JSON. */
  readonly given?: string
}

interface AskedEach {
  readonly asked: Awaited<ReturnType<typeof askBatch>>
  /** After all changes. */
  readonly args: Record<string, unknown>
  /** Null: no hook has changed them. */
  readonly text: string | null
}

async function askEach<Point extends CallPoint>(
  batch: HookBatch,
  about: AskedAbout<Point> & { readonly among?: readonly string[] },
): Promise<AskedEach> {
  const now: { args: Record<string, unknown>; text: string | null } = { args: about.args, text: null }
  const asked = await askBatch(batch, {
    ...about,
    call: (execute, state) => about.call(execute, state, now.args),
    change(given) {
      const { text, args } = readArguments(given, about.parse)
      if (isDeepStrictEqual(args, now.args)) return undefined
      if (!about.mayChange) throw new InvalidAnswer('Expected the arguments to stay as they are, got others.')
      Object.assign(now, { text, args })
      return text
    },
  })
  return { asked, ...now }
}

interface AskedBatch<Point extends CallPoint> extends Pick<AskedAbout<Point>, 'point'> {
  readonly among?: readonly string[]
  readonly call: (execute: HookPoints[Point], state: ThreadState) => unknown
  /** Takes other arguments, and returns their JSON; undefined: they are no others. @throws InvalidAnswer */
  readonly change: (given: unknown) => string | undefined
}

function askBatch<Point extends CallPoint>(
  batch: HookBatch,
  { point, among, call, change }: AskedBatch<Point>,
) {
  return batch.ask<Point, CallAnswer>(point, {
    ...{ call, failsClosed: true, ...(among !== undefined && { among }) },
    accept: (answer, hook) => readAnswer(answer, { point, hook, change }),
    onFailure: (hook) => ({ opinion: { source: 'hook', hook, effect: 'deny' } }),
    describe: ({ opinion, given }) => {
      const isChanged = given !== undefined
      return { decision: opinion?.effect ?? (isChanged ? 'change' : 'none'), isChanged }
    },
    ends: (said) => {
      const effect = said?.opinion?.effect
      return effect === 'deny' || (effect !== undefined && point === 'before_permission_request')
    },
  })
}

const ANSWERS: Readonly<Record<CallPoint, readonly Effect[]>> = {
  before_tool_call: ['allow', 'require_approval', 'deny'],
  before_permission_request: ['allow', 'deny'],
}

interface Reading extends Pick<AskedBatch<CallPoint>, 'point' | 'change'> {
  readonly hook: string
}

/** Null: the hook says nothing. @throws InvalidAnswer */
function readAnswer(answer: unknown, { point, hook, change }: Reading): CallAnswer | null {
  if (answer === undefined || answer === null) return null
  const changes = point === 'before_tool_call'
  const wanted = `null or { effect: ${ANSWERS[point].join(' | ')}, reason${changes ? ', arguments' : ''} }`
  const { effect, reason, arguments: given, ...others } = asFields(answer, wanted)
  const [other] = Object.keys(others)
  if (other !== undefined) throw new InvalidAnswer(`Expected ${wanted}, got the field "${other}" too.`)
  if (given !== undefined && !changes) throw new InvalidAnswer(`Expected ${wanted}, got "arguments" too.`)
  if (reason !== undefined && typeof reason !== 'string')
    throw new InvalidAnswer(`Expected the reason to be a text, got ${kindOf(reason)}.`)
  const known = ANSWERS[point].find((one) => one === effect)
  // Without an effect an answer has no opinion, but for one that is misspelt.
  if (known === undefined && (effect !== undefined || given === undefined))
    throw new InvalidAnswer(`Expected ${wanted}, got another effect.`)
  const text = given === undefined ? undefined : change(given)
  const why = reason === undefined ? {} : { reason }
  return {
    ...(known !== undefined && { opinion: { source: 'hook', hook, effect: known, ...why } }),
    ...(text !== undefined && { given: text }),
  }
}

/** @throws InvalidAnswer for arguments that are no JSON object, too long, or do not fit the tool */
function readArguments(
  given: unknown,
  parse: ParseArguments,
): { readonly text: string; readonly args: Record<string, unknown> } {
  const fields = asFields(given, 'the arguments as an object')
  let text: string
  try {
    text = JSON.stringify(jsonObjectCopy(fields, 'arguments'))
  } catch (error) {
    throw new InvalidAnswer(error instanceof Error ? error.message : String(error))
  }
  const bytes = Buffer.byteLength(text)
  if (bytes > LIMITS.messageBytes)
    throw new InvalidAnswer(`Expected arguments of at most ${LIMITS.messageBytes} bytes, got ${bytes}.`)
  const parsed = parse(text)
  if (!parsed.ok)
    throw new InvalidAnswer(`Expected arguments that fit the tool, got others: ${parsed.problem}`)
  return { text, args: parsed.args }
}

async function factsOf(tx: Writer, asked: AskedEach['asked']): Promise<readonly Fact[]> {
  const facts: Fact[] = []
  for (const { hook, scope, hasFailed, facts: factsOfRun } of asked) {
    facts.push(...(await factsOfRun(tx)))
    const message = `The hook "${hook}" failed, so the call was denied.`
    if (hasFailed) facts.push(fact('runtime.warning', { code: 'hook_denied', message }, scope))
  }
  return facts
}
