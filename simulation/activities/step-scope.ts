import type { EventScope } from '../../src/protocol/events.js'
import { runIdOf, stepIdOf } from '../../src/protocol/ids.js'

export function stepScope({ run, step }: { readonly run: number; readonly step: number }): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step) }
}
