import type { ExecutionState } from '../../definitions/thread-state.js'
import type { Plan } from '../../protocol/plan.js'
import type { CallGate } from './call-gate.js'
import type { Journal } from './journal.js'

/** What is known of a run before a call of it begins. */
export type ExecutionFacts = Omit<ExecutionState, 'stopped' | 'stoppedBy' | 'forceTurn' | 'stop'>

interface ExecutionParts {
  readonly facts: ExecutionFacts
  readonly plan: Plan | null
  readonly gate: CallGate
  readonly journal: Journal
}

/** The run as a call sees it and steers it: what it asks for happens with its outcome (T9). */
export function createExecutionState({ facts, plan, gate, journal }: ExecutionParts): ExecutionState {
  let stopped = false
  return {
    ...facts,
    get stopped() {
      gate.assertOpen()
      return stopped
    },
    get stoppedBy() {
      gate.assertOpen()
      return stopped ? facts.currentSide : null
    },
    forceTurn(side) {
      if (side !== 'a' && side !== 'b') throw new Error('Expected forceTurn to get side "a" or "b".')
      if (side === 'b' && plan !== null && plan.sides.b === null)
        throw new Error(`Expected forceTurn to get a side of ${plan.agent}, got "b", which is a person.`)
      journal.add(async () => ({ operations: [{ kind: 'force_turn', side }] }))
    },
    stop() {
      journal.add(async () => ({ operations: [{ kind: 'stop_run' }] }))
      stopped = true
    },
  }
}
