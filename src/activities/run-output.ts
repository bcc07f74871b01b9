/**
 * The output of an agent: an answer that ends a run has to be JSON that fits the agent's schema.
 *
 * Owns: the check of such an answer, how often it is asked for again, and the end of a run whose answers do not fit.
 * Does not own: which answers end a run, and the turn that a refusal forces (`hooks/run-end-hooks.ts`): an answer is refused as hooks
 * refuse one.
 * Invariants:
 * U1: a run ends with `stop_on_response` only if its output is stored, with the answer that it was read from.
 * U2: after so many refusals the next answer that does not fit ends the run as failed; its text stays.
 * U3: a run keeps the schema of its plan: where the worker has another one by now, the JSON Schema of the plan checks alone.
 */
import { isDeepStrictEqual } from 'node:util'

import type { PlanContent } from '../definitions/plan/plan-content.js'
import { toInputSchema } from '../definitions/plan/argument-schema.js'
import { checkBySchema } from '../definitions/plan/tool-arguments.js'
import { schemaProblem } from '../policy/schema-problem.js'
import type { CallModelAnswer } from '../protocol/activities.js'
import { fact } from '../protocol/facts.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import { isObject } from '../protocol/values.js'
import { recordError } from '../store/errors.js'
import { findOperation } from '../store/operations.js'
import { updateRun } from '../store/threads/runs.js'
import type { ActivityDependencies } from './activity.js'
import { askRunEnd, countRefusal, endsRun } from './hooks/run-end-hooks.js'
import type { RunEndVerdict } from './hooks/run-end-hooks.js'
import { stepScope } from './scope.js'
import type { ModelStep } from './turn/model-step.js'

/** How often a run is asked again for an answer that fits. */
const MOST_REFUSALS = 3

interface Answered extends Pick<ModelStep, 'input' | 'content' | 'now'> {
  readonly text: string | null
  readonly truncated: boolean
}

/** Judges an answer with this text: first its form, then the hooks. Null: it ends no run. */
export async function judgeRunEnd(
  dependencies: Pick<ActivityDependencies, 'store' | 'registry'>,
  { input, content, hooks, now }: ModelStep,
  result: CallModelAnswer,
  text: string | null,
): Promise<RunEndVerdict | null> {
  const { threadId, run, step, side, frame } = input
  if (frame !== null || result.type !== 'answered' || result.calls.length > 0 || !result.text) return null
  if (!endsRun(content, { side, tool: null })) return null
  const truncated = result.truncated === true
  const output = await judgeOutput(dependencies, { input, content, now, text, truncated })
  if (output !== null && (output.refusal !== null || output.ended !== undefined)) return output
  // About an answer that was cut off no hook is asked.
  if (truncated) return null
  const ending = { run, step, reason: 'stop_on_response', text } as const
  const asked = await askRunEnd(dependencies.store, hooks, { threadId, side, now, ending })
  if (output === null || asked.refusal !== null) return asked
  return { ...asked, record: async (tx) => [...(await output.record(tx)), ...(await asked.record(tx))] }
}

/** Null: the agent has no output. */
async function judgeOutput(
  dependencies: Pick<ActivityDependencies, 'store' | 'registry'>,
  answered: Answered,
): Promise<RunEndVerdict | null> {
  const { input, content } = answered
  if (content.output === undefined) return null
  const { threadId, run } = input
  const checked = answered.truncated ? CUT : checkOutput(dependencies, answered, content.output)
  if (checked.ok)
    return {
      refusal: null,
      operations: [],
      async record(tx) {
        await updateRun(tx, { threadId, number: run }, { output: checked.value })
        return []
      },
    }
  const id = `output_${run}`
  const known = await dependencies.store.read((db) => findOperation(db, threadId, id))
  const refused = known === null ? 0 : Number(known.detail)
  if (refused >= MOST_REFUSALS) return endAsFailed(answered, checked.problem)
  return {
    refusal: `${checked.problem} Answer again, with nothing but JSON that fits: ${JSON.stringify(content.output)}`,
    operations: [{ kind: 'force_turn', side: input.side }],
    sentBy: 'runtime',
    async record(tx) {
      await countRefusal(tx, { threadId, id, now: answered.now, refused: refused + 1 })
      return []
    },
  }
}

const CUT = { ok: false, problem: 'Your answer was cut off by its limit of length.' } as const

type CheckedOutput =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problem: string }

function checkOutput(
  { registry }: Pick<ActivityDependencies, 'registry'>,
  { input, text }: Answered,
  planned: NonNullable<PlanContent['output']>,
): CheckedOutput {
  const read = readJson(text ?? '')
  if (!read.ok) return read
  const own = registry.agent(input.agent)?.output
  const checked =
    own !== undefined && isDeepStrictEqual(toInputSchema(own), planned)
      ? checkBySchema(own, read.value)
      : checkPlanned(planned, read.value)
  if (!checked.ok) return { ok: false, problem: `Your answer does not fit: ${checked.problem}.` }
  try {
    const value: unknown = JSON.parse(JSON.stringify(checked.value))
    // The text was JSON, and `JSON.stringify` has written what the schema made of it.
    if (isObject(value)) return { ok: true, value: value as JsonObject }
  } catch {
    // The schema has made something else of it.
  }
  return { ok: false, problem: 'Your answer does not fit: expected an object.' }
}

function checkPlanned(
  planned: NonNullable<PlanContent['output']>,
  value: JsonValue,
): ReturnType<typeof checkBySchema> {
  const problem = schemaProblem(planned, value)
  return problem === undefined ? { ok: true, value } : { ok: false, problem }
}

/** Models like to put JSON into a fence. */
const FENCED = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/

function readJson(text: string): CheckedOutput | { readonly ok: true; readonly value: JsonValue } {
  const trimmed = text.trim()
  try {
    return { ok: true, value: JSON.parse(FENCED.exec(trimmed)?.[1] ?? trimmed) as JsonValue }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `Expected an answer that is JSON, got something else: ${reason}.` }
  }
}

function endAsFailed({ input, now }: Answered, problem: string): RunEndVerdict {
  const { threadId, run, step } = input
  const message = `The answers of this run did not fit the output of its agent, ${MOST_REFUSALS + 1} times: it ends as failed.`
  return {
    refusal: null,
    operations: [],
    ended: 'output_invalid',
    async record(tx) {
      const kept = { id: `${threadId}:output_${run}`, threadId, at: now, stack: null }
      await recordError(tx, { ...kept, type: 'output.invalid', message: problem })
      return [fact('runtime.warning', { code: 'output_invalid', message }, stepScope({ run, step }))]
    },
  }
}
