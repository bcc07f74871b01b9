/**
 * What would be decided about a call before its arguments are known.
 * Owns: the outcomes that code which judges arguments can still bring about.
 * Does not own: the judgement (`judge.ts`).
 */
import { judgeForThread, TOOL_ASKS } from './judge.js'
import type { Judged, Opinion, PermissionDecision, Sources, StoredPermissions } from './judge.js'

/** What is known about the calls of a tool, an agent or a prompt. */
export interface Foreseen extends Sources {
  /** The code that judges the arguments of a call: that of the tool, and the policy function of the worker. */
  readonly checks: { readonly tool: boolean; readonly policy: boolean }
}

export interface Forecast {
  /** What rules and mode decide where the tool's own check, if it has one, asks, and the policy function demands nothing. */
  readonly decision: PermissionDecision
  /** Code that judges the arguments may decide otherwise. */
  readonly dependsOnArguments: boolean
}

/** Every answer of a policy function. */
const POLICY_ANSWERS = (['allow', 'require_approval', 'deny'] as const).map((effect): readonly Opinion[] => [
  { source: 'policy', effect },
])

/** Foresees what is decided about the next call in a thread. Pure: the same facts give the same forecast. */
export function forecast(
  { checks, ...sources }: Foreseen,
  stored: StoredPermissions,
  facts: Partial<Pick<Judged, 'hasFailed' | 'grant'>> = {},
): Forecast {
  const decide = (said: readonly Opinion[]): PermissionDecision =>
    judgeForThread({ ...sources, opinions: [...sources.opinions, ...said] }, stored, facts)
  // The check of a tool fails closed, so a person may always be asked.
  const decision = decide(checks.tool ? [TOOL_ASKS] : [])
  const ofTool = checks.tool ? [[], [TOOL_ASKS]] : [[]]
  const ofPolicy = checks.policy ? POLICY_ANSWERS : [[]]
  const possible = ofTool.flatMap((tool) => ofPolicy.map((policy) => decide([...tool, ...policy])))
  return { decision, dependsOnArguments: possible.some((other) => other.decision !== decision.decision) }
}
