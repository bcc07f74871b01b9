import { ACTIVITIES } from './activities.js'
import type { CallModelInput, ExecuteToolInput } from './activities.js'

/**
 * What a step's activities are told nearly always: it is not sent, for each step's inputs stay in the history. Wire format:
 * a value here may never change, and a field that has none may never get one (T11).
 */
const USUAL = {
  [ACTIVITIES.callModel]: {
    facts: [],
    knownPlan: null,
    trigger: null,
    toolFirst: false,
    frame: null,
    asked: false,
    activated: true,
    sideStarts: false,
    wordless: false,
    drain: [],
    start: null,
  } satisfies Partial<CallModelInput>,
  [ACTIVITIES.executeTool]: {
    facts: [],
    depth: 0,
    queued: false,
    handedOff: false,
    response: null,
  } satisfies Partial<ExecuteToolInput>,
} as const

/** An input without what is as usual; of a run that goes on, the plan that is known is the one it runs. */
export function leanInput<Input extends object>(activity: string, input: Input): Partial<Input> {
  const usual = usualOf(activity, input)
  return Object.fromEntries(
    Object.entries(input).filter(([name, value]) => !(name in usual) || !isSame(value, usual[name])),
  ) as Partial<Input>
}

/** The input as it was before `leanInput`. */
export function wholeInput<Input extends object>(activity: string, input: Input): Input {
  return { ...usualOf(activity, input), ...input }
}

function usualOf(activity: string, input: object): Readonly<Record<string, unknown>> {
  if (activity === ACTIVITIES.executeTool) return USUAL[activity]
  if (activity !== ACTIVITIES.callModel) return {}
  return { ...USUAL[activity], ...('plan' in input && { knownPlan: input.plan }) }
}

function isSame(value: unknown, usual: unknown): boolean {
  return value === usual || (Array.isArray(usual) && Array.isArray(value) && value.length === 0)
}
