import type { JsonObject } from '../../../protocol/json.js'
import { LIMITS } from '../../../protocol/limits.js'
import { takesArguments } from '../../../definitions/lifecycle-tools.js'
import type { SubagentContent } from '../../../definitions/plan-content.js'
import type { ActivityDependencies } from '../../dependencies.js'
import { waitForDefinition } from '../../plan-content.js'
import { shownValues } from '../../variables/shown-values.js'
import type { OperationDetail } from '../request-log.js'
import { RequestLog } from '../request-log.js'
import type { HeldActivation, Immediate } from './activation.js'
import { bootstrap } from './bootstrap.js'
import { hintedArguments, plainArguments, writtenArguments } from './call-arguments.js'
import type { Callee, Hints } from './call-arguments.js'

/** A call with what it says; without arguments it is not made. */
export interface DerivedCall extends Immediate {
  readonly args: JsonObject | null
}

export interface Derived {
  readonly calls: readonly DerivedCall[]
  readonly log: RequestLog
}

/**
 * The arguments of each call: nothing where that is enough, else what a model makes of the hints, else the hints.
 * Models are asked for LIMITS.bootstraps in all.
 */
export async function deriveCalls(
  dependencies: ActivityDependencies,
  activation: HeldActivation,
  { due, signal }: { readonly due: readonly Immediate[]; readonly signal: AbortSignal },
): Promise<Derived> {
  const deadline = performance.now() + LIMITS.bootstraps
  // Written by this activity: the store's boundary.
  const known = activation.held.detail as Partial<OperationDetail> | null
  let log = new RequestLog({ plan: activation.content.plan.digest, ...known })
  const calls: DerivedCall[] = []
  for (const { callId, subagent } of due) {
    const callee = calleeOf(dependencies, subagent)
    const hints = await hintsOf(dependencies, activation, subagent)
    let args = callee === null ? null : enough(callee, hints)
    if (callee !== null && args === null) {
      const bootstrapping = { activation, signal, deadline, log }
      const { written, log: asked } = await bootstrap(dependencies, bootstrapping, { subagent, hints })
      log = asked
      args = (written === null ? null : writtenArguments(callee, written)) ?? hintedArguments(callee, hints)
    }
    calls.push({ callId, subagent, args })
  }
  return { calls, log }
}

/** What needs no model: without hints there is nothing to make of them. */
function enough(callee: Callee, { name, description }: Hints): JsonObject | null {
  const { subagent } = callee
  const hasUse = subagent.resumable !== null || takesArguments(subagent)
  if (hasUse && (name !== null || description !== null)) return null
  return plainArguments(callee)
}

/** Null for an agent that no worker has had for a minute. */
function calleeOf({ registry }: ActivityDependencies, subagent: SubagentContent): Callee | null {
  const agent = registry.agent(subagent.agent)
  if (agent !== undefined) return { subagent, schema: registry.prompt(agent.sideA.prompt)?.requiredSchema }
  waitForDefinition()
  return null
}

/** T5: the values that anybody may see; those of `scopedEnv` are not looked at here. */
async function hintsOf(
  dependencies: ActivityDependencies,
  { input, content, prompt }: HeldActivation,
  { immediate }: SubagentContent,
): Promise<Hints> {
  const { threadId, agent } = input
  const { nameEnv = null, descriptionEnv = null } = immediate ?? {}
  const names = [nameEnv, descriptionEnv].flatMap((name) => name ?? [])
  const scope = { threadId, agent, content, prompt: prompt.name }
  const values = await shownValues(dependencies, scope, names)
  return { name: wordsOf(values, nameEnv), description: wordsOf(values, descriptionEnv) }
}

function wordsOf(values: ReadonlyMap<string, string>, name: string | null): string | null {
  const value = name === null ? undefined : values.get(name)
  return value === undefined || value.trim() === '' ? null : value
}
