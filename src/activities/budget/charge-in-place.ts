/**
 * The charge of requests that the code of a tool makes by prompts in place.
 * Owns: the look at the budgets before such a request, and what it has used behind it.
 * Does not own: the rows and the judgement (`charge.ts`).
 * Several may be under way at once, and the call of the tool is the one that a thread has in flight (T1): so they hold nothing, and each may
 * go over a limit by its own answer.
 */
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { textTokens } from '../../model/context/row-tokens.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import { exceededText } from '../../policy/budget-text.js'
import { stepScope } from '../scope.js'
import { nowMicros } from '../../protocol/time.js'
import type { ActivityDependencies } from '../activity.js'
import { pricesOf } from '../turn/request-log.js'
import type { RequestLog } from '../turn/request-log.js'
import { addUsed, chargeBeside } from './charge.js'

interface InPlace {
  readonly threadId: string
  readonly run: number
  readonly step: number
  /** Null: no worker has the agent. */
  readonly content: PlanContent | null
  /** Whether the store has budgets for the thread. */
  readonly hasBudgets: boolean
}

/** A request of code. */
interface BudgetedRequest {
  /** Why it must not be sent; null: it may. */
  begin(model: string, prices: Parameters<typeof pricesOf>[0]): Promise<string | null>
  /** It has ended. */
  end(log: RequestLog): Promise<void>
}

const FREE: BudgetedRequest = { begin: async () => null, end: async () => undefined }

/** The budgets as the requests of a prompt in place meet them. Without a budget they do nothing. */
export function budgetInPlace(
  { store, budgets: worker }: ActivityDependencies,
  { threadId, run, step, content, hasBudgets }: InPlace,
  { prompt, tools = [] }: ModelRequest,
): BudgetedRequest {
  const agent = content?.budget
  if (!hasBudgets && worker === undefined && agent === undefined) return FREE
  const defined = { worker, agent }
  const inputTokens = Math.max(1, textTokens(JSON.stringify([prompt, tools])))
  return {
    async begin(model, known) {
      const { inputPrice, outputPrice } = pricesOf(known)
      const prices = { input: inputPrice, output: outputPrice }
      const need = {
        kind: 'model',
        isStep: false,
        model,
        inputTokens,
        maxOutputTokens: null,
        prices,
      } as const
      const call = { threadId, run, need, now: nowMicros(), scope: stepScope({ run, step }) }
      const exceeded = await chargeBeside(store, call, defined)
      return exceeded === null
        ? null
        : exceededText(exceeded).replace('The run was ended', 'It was not called')
    },
    async end({ last }) {
      if (last?.usage == null) return
      const { inputTokens: input, outputTokens, cost } = last.usage
      await addUsed(
        store,
        { threadId, run, used: { inputTokens: input, outputTokens, cost: cost ?? 0 } },
        defined,
      )
    },
  }
}
