/**
 * The decision about an action: from the effects that its sources demand, the mode, and whether a person can be asked.
 * Owns: the modes, the decision and its record.
 * Does not own: rules (`permissions.ts`), and the request to a person (`activities/tool/permission.ts`).
 * Invariants: a `deny` always wins; what needs an approval runs without one only by `bypass`, by the policy function with `auto`, or by
 * a hook that answers in the place of the person.
 */
import type { PermissionOutcome, PermissionSource } from '../protocol/event-codes.js'
import type { ActionTraits, DestructiveFacts } from './action.js'
import { isStricter, rulesFor } from './permissions.js'
import type { Effect, Permissions } from './permissions.js'

/**
 * How a thread treats what its rules leave open:
 * - `default`: rules, tools and the policy decide.
 * - `untrusted`: a person approves all that is not `readOnly`.
 * - `on_request`: a person approves what is `destructive`.
 * - `on_failure`: a person approves what is not `readOnly`, once a call of the same name has failed in the run.
 * - `never`: nobody is asked; what needs an approval is denied.
 * - `plan`: only what is `readOnly` is done.
 * - `auto`: an `allow` of the policy function answers what rules or a tool want approved.
 * - `bypass`: nobody is asked; what needs an approval is done.
 * None of them allows what is denied.
 */
export type PermissionMode = keyof typeof MODES

type ModeEffect = (action: Pick<Judged, 'traits' | 'hasFailed'>) => Effect

/** What each mode demands of an action by itself. */
const MODES = {
  default: () => 'allow',
  untrusted: ({ traits }) => (traits.readOnly === true ? 'allow' : 'require_approval'),
  on_request: ({ traits }) => (isDestructive(traits) ? 'require_approval' : 'allow'),
  on_failure: ({ traits, hasFailed }) =>
    hasFailed && traits.readOnly !== true ? 'require_approval' : 'allow',
  never: () => 'allow',
  plan: ({ traits }) => (traits.readOnly === true ? 'allow' : 'deny'),
  auto: () => 'allow',
  bypass: () => 'allow',
} as const satisfies Readonly<Record<string, ModeEffect>>

/** The names of all modes. */
export const PERMISSION_MODES = Object.keys(MODES) as readonly PermissionMode[]

/** Returns what is wrong with the name of a mode; undefined is none. */
export function permissionModeProblem(mode: unknown): string | undefined {
  if (mode === undefined || PERMISSION_MODES.some((known) => known === mode)) return undefined
  return `expected one of ${PERMISSION_MODES.join(', ')}, got ${typeof mode === 'string' ? mode : typeof mode}`
}

function isDestructive({ destructive = false }: ActionTraits): boolean {
  return destructive !== false
}

/**
 * What a thread is created with, and its subagents inherit. Its mode can demand more than that of the worker. `auto` and `bypass` answer
 * for a person in this thread, unless the worker's mode is `never`.
 */
export interface ThreadPermissions {
  /** Rules of the thread. They can make those of other sources stricter, and never weaker. */
  readonly permissions?: Permissions
  readonly mode?: PermissionMode
  /** False: nobody can be asked, so a call that needs an approval is denied at once. @default true */
  readonly interactive?: boolean
}

/** What decided. `default`: nothing was said about the call; `person`: the answer to a request; `expiry`: nobody answered in time. */
type DecisionSource = PermissionSource | 'default' | 'person' | 'expiry'

/** What one source demands of an action. */
export interface Opinion {
  readonly source: DecisionSource
  readonly effect: Effect
  readonly reason?: string
  /** The id of the hook, for the source `hook`. */
  readonly hook?: string
}

/** The opinion of a tool whose `needsApproval` is true, answers true, or gives no answer. */
export const TOOL_ASKS: Opinion = { source: 'tool', effect: 'require_approval' }

/** Rules with their source. */
export interface SourceRules {
  readonly source: 'worker' | 'agent' | 'account' | 'user' | 'thread' | 'run'
  readonly permissions: Permissions
}

/** The permissions that the store has for a call. */
export interface StoredPermissions extends Pick<ThreadPermissions, 'mode' | 'interactive'> {
  /** Of the account, the user, the thread and the run, those that have any. */
  readonly rules: readonly SourceRules[]
}

interface FoundPermissions {
  readonly account?: Permissions | null
  readonly user?: Permissions | null
  readonly thread: ThreadPermissions | null
  /** Null: the call belongs to no run, or its run has none. */
  readonly run?: Permissions | null
}

/** What the rows of account, user, thread and run say together. */
export function storedPermissions({ account, user, thread, run }: FoundPermissions): StoredPermissions {
  const { permissions, ...others } = thread ?? {}
  const found = { account, user, thread: permissions, run } as const
  const sources = ['account', 'user', 'thread', 'run'] as const
  const rules = sources.flatMap((source) => {
    const of = found[source] ?? null
    return of === null ? [] : [{ source, permissions: of }]
  })
  return { ...others, rules }
}

export interface Judged {
  readonly traits: ActionTraits
  readonly rules: readonly SourceRules[]
  /** Of the tool's own check, of the policy function and of hooks. */
  readonly opinions: readonly Opinion[]
  /** The answer of a hook, if a person would be asked. @default none: the person is asked */
  readonly standIn?: Opinion | null
  /** Of the worker and of the thread, those that are set. */
  readonly modes: readonly PermissionMode[]
  /** False: nobody can be asked. */
  readonly interactive: boolean
  /** A call of the same name has failed in the run. */
  readonly hasFailed: boolean
  /** The id of an approval that was given before, and answers what needs one. @default none */
  readonly grant?: string | null
}

/** What is known about a call apart from its thread. */
export interface Sources extends Pick<Judged, 'traits' | 'rules' | 'opinions' | 'standIn'> {
  /** Of the worker. */
  readonly mode: PermissionMode | undefined
}

/** The rules that options and definitions have, in the order of sources. */
export function definedRules(
  ofWorker: Permissions | undefined,
  ofAgent: Permissions | undefined,
): readonly SourceRules[] {
  return [
    ...(ofWorker === undefined ? [] : [{ source: 'worker', permissions: ofWorker } as const]),
    ...(ofAgent === undefined ? [] : [{ source: 'agent', permissions: ofAgent } as const]),
  ]
}

/** Decides by what the sources say, and by the permissions that the store has. */
export function judgeForThread(
  { mode: ofWorker, ...sources }: Sources,
  stored: StoredPermissions,
  { hasFailed = false, grant = null }: Partial<Pick<Judged, 'hasFailed' | 'grant'>> = {},
): PermissionDecision {
  const { mode, interactive = true } = stored
  const rules = [...sources.rules, ...stored.rules]
  const modes = [ofWorker, mode].filter((one) => one !== undefined)
  return judge({ ...sources, rules, modes, interactive, hasFailed, grant })
}

/** Whether it counts for the decision that a call of the same name has failed in the run. */
export function looksAtFailures({ mode, traits }: Sources, stored: StoredPermissions): boolean {
  return traits.readOnly !== true && (mode === 'on_failure' || stored.mode === 'on_failure')
}

/** The record of a decision, which each executed call has. Fields that say nothing are left out. */
export interface PermissionDecision {
  readonly decision: PermissionOutcome
  /** What decided: the strictest of the sources, or what answered in the place of a person. */
  readonly source: DecisionSource
  readonly reason?: string
  /** The id of the hook that decided, for the source `hook`. */
  readonly hook?: string
  /** The rules that demanded the effect, each as `source:rule`. */
  readonly rules?: readonly string[]
  /** The sources that demanded the effect, where `source` is not the only one, or has answered in the place of a person. */
  readonly sources?: readonly DecisionSource[]
  /** The mode, unless it is `default`. */
  readonly mode?: PermissionMode
  /** False: nobody could be asked. */
  readonly interactive?: false
  readonly capabilities?: readonly string[]
  readonly destructive?: true | DestructiveFacts
  /** The request that asked a person. */
  readonly requestId?: string
  /** The grant that answered in the place of a person. */
  readonly grantId?: string
  /** The person that answered, as the caller names them. */
  readonly by?: string
  /** True: the person gave other arguments, with which the call ran. */
  readonly changed?: true
  /** The hooks that changed the arguments, before anything else judged them. */
  readonly changedBy?: readonly string[]
  /** True: the person gave a result in the place of the call. */
  readonly answered?: true
  /** Until when a person could approve, in microseconds since 1970. */
  readonly expiresAt?: number
}

/** The decision about a call that nothing is said about. */
export const ALLOWED_BY_DEFAULT: PermissionDecision = { decision: 'allowed', source: 'default' }

/** Decides about an action. Pure: the same facts give the same decision. */
export function judge(judged: Judged): PermissionDecision {
  const { traits, modes, interactive, grant = null, standIn = null } = judged
  const mode = modes.at(-1) ?? 'default'
  const { effect, source, sources, rules, ...named } = strictest(judged)
  const known = {
    ...whyOf(named),
    ...(rules.length === 0 ? {} : { rules }),
    ...factsOf(traits, mode),
    ...(interactive ? {} : { interactive }),
  }
  const by = (decider: DecisionSource) => answeredBy(decider, { source, sources })
  if (effect !== 'require_approval')
    return { decision: effect === 'deny' ? 'denied' : 'allowed', ...by(source), ...known }
  if (grant !== null) return { decision: 'allowed', ...by('grant'), grantId: grant, ...known }
  if (modes.includes('never')) return { decision: 'denied', ...by('mode'), ...known }
  if (mode === 'bypass') return { decision: 'allowed', ...by('mode'), ...known }
  if (mode === 'auto' && isAllowedByPolicy(judged)) return { decision: 'allowed', ...by('policy'), ...known }
  if (!interactive) return { decision: 'denied', ...by('not_interactive'), ...known }
  if (standIn === null) return { decision: 'asked', ...by(source), ...known }
  const decision = standIn.effect === 'allow' ? 'allowed' : 'denied'
  return { ...known, decision, ...by(standIn.source), ...whyOf(standIn) }
}

/** Who decided, with the sources that demanded it where these are others. */
export function answeredBy(
  decider: DecisionSource,
  { source, sources = [source] }: Pick<PermissionDecision, 'source' | 'sources'>,
): Pick<PermissionDecision, 'source' | 'sources'> {
  return { source: decider, ...(sources.every((one) => one === decider) ? {} : { sources }) }
}

function whyOf({ reason, hook }: Pick<Opinion, 'reason' | 'hook'>): Pick<Opinion, 'reason' | 'hook'> {
  return { ...(reason === undefined ? {} : { reason }), ...(hook === undefined ? {} : { hook }) }
}

function isAllowedByPolicy({ opinions }: Judged): boolean {
  return opinions.some(({ source, effect }) => source === 'policy' && effect === 'allow')
}

/** Every record of a decision has these, also where the mode asks nobody. */
function factsOf(
  { capabilities = [], destructive = false }: ActionTraits,
  mode: PermissionMode,
): Pick<PermissionDecision, 'mode' | 'capabilities' | 'destructive'> {
  return {
    ...(mode === 'default' ? {} : { mode }),
    ...(capabilities.length === 0 ? {} : { capabilities }),
    ...(destructive === false ? {} : { destructive }),
  }
}

/** A rule that applies to an action. */
interface SourcedRule extends Opinion {
  readonly rule: string
}

function appliedRules(
  rules: readonly SourceRules[],
  { capabilities = [] }: ActionTraits,
): readonly SourcedRule[] {
  return rules.flatMap(({ source, permissions }) =>
    rulesFor(permissions, capabilities).map((rule) => ({ source, ...rule })),
  )
}

/** The rules that apply to an action, whatever they demand, each as `source:rule`. */
export function namedRules(rules: readonly SourceRules[], traits: ActionTraits): readonly string[] {
  return appliedRules(rules, traits).map(({ source, rule }) => `${source}:${rule}`)
}

interface Strictest extends Opinion {
  /** Those that demand this effect, in their order. */
  readonly sources: readonly DecisionSource[]
  readonly rules: readonly string[]
}

/** The strictest effect of all sources; of equal ones that of the first source. */
function strictest({ traits, rules, opinions, modes, hasFailed }: Judged): Strictest {
  const applied = appliedRules(rules, traits)
  const ofModes = modes.map((mode): Opinion => ({
    source: 'mode',
    effect: MODES[mode]({ traits, hasFailed }),
  }))
  const all: readonly Opinion[] = [
    ...applied,
    ...opinions,
    ...ofModes.filter(({ effect }) => effect !== 'allow'),
  ]
  const first: Opinion = { source: 'default', effect: 'allow' }
  const winner = all.reduce(
    (best, one) => (best === first || isStricter(one.effect, best.effect) ? one : best),
    first,
  )
  return {
    ...{ source: winner.source, effect: winner.effect, ...whyOf(winner) },
    sources: [...new Set(all.filter(({ effect }) => effect === winner.effect).map(({ source }) => source))],
    rules: applied
      .filter((rule) => rule.effect === winner.effect)
      .map((rule) => `${rule.source}:${rule.rule}`),
  }
}
