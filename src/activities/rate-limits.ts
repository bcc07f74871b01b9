/**
 * The limits of accounts inside runs: tokens before a model is called, calls of functions before one begins.
 * Owns: the waits for these limits, and the count of what models have used.
 * Does not own: the windows (`store/limits/rate-windows.ts`), what servers limit, and the timer of a wait, which the workflow sets.
 * A wait is an answer, as that for a provider, so that no worker is held; it does not use up the patience for providers. Tokens are
 * known behind an answer, so that requests under way at the same time may exceed their limit by what they use.
 */
import { withJitter } from '../model/provider-pause.js'
import type { RateLimitName } from '../policy/rate-limits.js'
import type { Allowance } from '../policy/rolling-window.js'
import type {
  ActivityInput,
  ExecuteToolInput,
  TerminatedAnswer,
  Usage,
  WaitAnswer,
} from '../protocol/activities.js'
import type { EventScope } from '../protocol/events.js'
import { fact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { toMicros } from '../protocol/time.js'
import type { Millis } from '../protocol/time.js'
import { appendEvents } from '../store/events.js'
import { openRateWindows } from '../store/limits/rate-windows.js'
import type { OperationRecord } from '../store/operations.js'
import type { ActivityDependencies } from './activity.js'
import { commit, keep } from './operation.js'
import { callScope, microseconds, stepScope } from './scope.js'
import { log } from './temporal-activity.js'
import { openThreadForCall } from './thread-row.js'
import { errorFields, readThrown } from './thrown.js'
import { newPlan } from './turn/model-step.js'
import type { ModelStep } from './turn/model-step.js'

/** Before a step calls its model: the wait until the account may use tokens again; null: it may. */
export async function waitForTokens(
  { store, rateLimits }: ActivityDependencies,
  step: ModelStep,
): Promise<WaitAnswer | null> {
  const kind = 'tokensPerMinute'
  const limit = rateLimits?.limits[kind]
  if (rateLimits === undefined || limit === undefined) return null
  const { input, content, operation, resumed, now, startedAt } = step
  const { threadId } = input
  const allowance = await windowsOf(rateLimits, input).look(await windowOf(rateLimits, threadId, kind), limit)
  if (allowance.kind === 'allowed') return null
  // Counts from the workflow's time, by whose clock the timer of the wait runs.
  const until = endOf(allowance, input.now + performance.now() - startedAt)
  const state = resumed || step.log.number > 0 ? 'started' : 'drained'
  return commit(store, operation, async (tx): Promise<WaitAnswer> => {
    await keep(tx, operation, { state, detail: step.log.detail() })
    await appendEvents(tx, { threadId, events: [exhausted(kind, until, stepScope(input))], now })
    return { type: 'wait', until, cause: 'limit', ...newPlan(input, content) }
  })
}

/**
 * Counts a call of a function, before anything else is done about it: the wait until the account may make another one; null: it may.
 * A call that was asked about was counted then.
 */
export async function waitForToolCall(
  { store, rateLimits }: ActivityDependencies,
  input: ExecuteToolInput,
  operation: OperationRecord | null,
): Promise<WaitAnswer | TerminatedAnswer | null> {
  const kind = 'toolCallsPerMinute'
  const limit = rateLimits?.limits[kind]
  if (rateLimits === undefined || limit === undefined) return null
  if (operation !== null || input.failed === true) return null
  const startedAt = performance.now()
  const { threadId, now } = input
  const allowance = await windowsOf(rateLimits, input).take(await windowOf(rateLimits, threadId, kind), limit)
  if (allowance.kind === 'allowed') return null
  const until = endOf(allowance, now + performance.now() - startedAt)
  const events = [exhausted(kind, until, callScope(input))]
  return store.write(async (tx): Promise<WaitAnswer | TerminatedAnswer> => {
    if ((await openThreadForCall(tx, input)) === null) return { type: 'terminated' }
    await appendEvents(tx, { threadId, events, now: microseconds(input) })
    return { type: 'wait', until, cause: 'limit', storedNothing: true }
  })
}

/** Counts the tokens of an answer that was just committed, and returns it. It is kept where they cannot be counted. */
export async function countTokens<Answer extends { readonly usage?: Usage } | object>(
  { rateLimits }: ActivityDependencies,
  input: Pick<ActivityInput, 'threadId' | 'now'>,
  answer: Answer,
): Promise<Answer> {
  const { threadId } = input
  const kind = 'tokensPerMinute'
  if (rateLimits?.limits[kind] === undefined || !('usage' in answer)) return answer
  const amount = answer.usage === undefined ? 0 : answer.usage.inputTokens + answer.usage.outputTokens
  if (amount <= 0) return answer
  try {
    await windowsOf(rateLimits, input).add(await windowOf(rateLimits, threadId, kind), amount)
  } catch (error) {
    log.warn('Tokens could not be counted.', { threadId, amount, ...errorFields(readThrown(error)) })
  }
  return answer
}

type RunLimits = NonNullable<ActivityDependencies['rateLimits']>

function windowsOf(
  { store, clock }: RunLimits,
  { now }: Pick<ActivityInput, 'now'>,
): ReturnType<typeof openRateWindows> {
  return openRateWindows(store(), clock(now))
}

/** The window of the thread's account; subagents have the account of their root. */
async function windowOf(
  { store }: RunLimits,
  threadId: string,
  kind: RateLimitName,
): Promise<{ readonly account: string | null; readonly kind: RateLimitName }> {
  const thread = await store().read((db) =>
    db.selectFrom('threads').select('account').where('id', '=', threadId).executeTakeFirst(),
  )
  return { account: thread?.account ?? null, kind }
}

/** The jitter spreads the threads of an account that wait for the same moment. */
function endOf({ wait }: Extract<Allowance, { readonly kind: 'exhausted' }>, now: Millis): Millis {
  return Math.ceil(now + withJitter(wait * 1000))
}

function exhausted(limit: RateLimitName, until: Millis, scope: EventScope): Fact {
  return fact('limit.changed', { limit, state: 'exhausted', until: toMicros(until) }, scope)
}
