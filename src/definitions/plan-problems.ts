import { LIMITS } from '../protocol/limits.js'
import { buildPlan } from './build-plan.js'
import type { Registry } from './known-definitions.js'

/** Says which agents have more control facts than a thread may carry from run to run. */
export function planProblems(registry: Registry): readonly string[] {
  return registry.names().agents.flatMap((name) => {
    const built = buildPlan(registry, name)
    const bytes = 'plan' in built ? Buffer.byteLength(JSON.stringify(built.plan)) : 0
    if (bytes <= LIMITS.planBytes) return []
    return [
      `agent '${name}' has a plan of ${bytes} bytes, expected at most ${LIMITS.planBytes}: list fewer tools in its prompts`,
    ]
  })
}
