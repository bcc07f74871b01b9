/**
 * Rules about capabilities, and how the rules of several sources combine.
 * Owns: which rule applies to a capability, and which of several effects wins.
 * Does not own: what an effect means for a call (`judge.ts`).
 * Invariant: another source, or another rule, can only make the effect stricter.
 */
import { utf8Length } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'

/** What a rule says about an action: it may be done, a person has to approve it, or it must not be done. */
export type Effect = 'allow' | 'require_approval' | 'deny'

/** `true` allows, `false` denies. An object allows: it is data of a grant, which a policy function may read. */
export type PermissionValue = Effect | boolean | JsonObject

/**
 * Rules by capability: `{ 'orders.read': 'allow', 'orders.*': 'require_approval' }`. A key is the name of a capability, or
 * `namespace.*` for all names that begin with `namespace.`, or `*` for all. Of all rules that apply the strictest counts.
 */
export type Permissions = Readonly<Record<string, PermissionValue>>

/** From the weakest to the strictest. */
const EFFECTS: readonly Effect[] = ['allow', 'require_approval', 'deny']

/** Whether a value is an effect. */
export function isEffect(value: unknown): value is Effect {
  return EFFECTS.some((effect) => effect === value)
}

/** Whether the first effect is stricter. */
export function isStricter(one: Effect, other: Effect): boolean {
  return EFFECTS.indexOf(one) > EFFECTS.indexOf(other)
}

/** A rule that applies to one of an action's capabilities. */
export interface AppliedRule {
  /** The key of the rule: a capability or a wildcard. */
  readonly rule: string
  readonly effect: Effect
}

/** All rules that apply to one of these capabilities, in the order of the rules. */
export function rulesFor(permissions: Permissions, capabilities: readonly string[]): readonly AppliedRule[] {
  return Object.entries(permissions).flatMap(([rule, value]) =>
    capabilities.some((capability) => covers(rule, capability)) ? [{ rule, effect: effectOf(value) }] : [],
  )
}

/** Whether a rule is about a capability. */
export function covers(rule: string, capability: string): boolean {
  if (rule === '*' || rule === capability) return true
  return rule.endsWith('.*') && capability.startsWith(rule.slice(0, -1))
}

/** The effect of each rule, without the data of grants, which are the policy function's own. */
export function effectsOf(permissions: Permissions): Readonly<Record<string, Effect>> {
  return Object.fromEntries(Object.entries(permissions).map(([rule, value]) => [rule, effectOf(value)]))
}

function effectOf(value: PermissionValue): Effect {
  if (value === false) return 'deny'
  return typeof value === 'string' ? value : 'allow'
}

/** All of these rules in one object; of equal keys the stricter value counts, and of equally strict ones the first. */
export function mergePermissions(all: readonly Permissions[]): Permissions {
  const [first = {}, ...others] = all
  if (others.length === 0) return first
  const merged = new Map<string, PermissionValue>()
  for (const [rule, value] of all.flatMap((permissions) => Object.entries(permissions))) {
    const known = merged.get(rule)
    if (known === undefined || isStricter(effectOf(value), effectOf(known))) merged.set(rule, value)
  }
  return Object.fromEntries(merged)
}

/** A capability: letters, digits, `_` and `-`, in parts with dots between them. */
const CAPABILITY = /^[\w-]+(\.[\w-]+)*$/
const LONGEST_NAME = 200
const MOST_RULES = 1_000
const MOST_BYTES = 65_536

/** Returns what is wrong with the name of a capability. */
export function capabilityProblem(name: unknown): string | undefined {
  // JSON over HTTP loses a key of that name.
  const isKey = typeof name === 'string' && name !== '__proto__'
  if (isKey && name.length <= LONGEST_NAME && CAPABILITY.test(name)) return undefined
  return `expected a capability such as "orders.refund", of at most ${LONGEST_NAME} characters, got ${show(name)}`
}

/** Returns the first thing that is wrong with rules; undefined is none. */
export function permissionsProblem(permissions: unknown): string | undefined {
  if (permissions === undefined) return undefined
  if (!isPlainObject(permissions))
    return `expected an object of rules such as { 'orders.*': 'require_approval' }, got ${show(permissions)}`
  const rules = Object.entries(permissions)
  if (rules.length > MOST_RULES) return `expected at most ${MOST_RULES} rules, got ${rules.length}`
  const wrong = rules
    .map(([rule, value]) => ruleProblem(rule, value))
    .find((problem) => problem !== undefined)
  return wrong ?? sizeProblem(permissions)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** They are in the row of a thread, which each step reads. */
function sizeProblem(permissions: Readonly<Record<string, unknown>>): string | undefined {
  let text: string
  try {
    text = JSON.stringify(permissions)
  } catch {
    return 'expected rules that are JSON, got others'
  }
  if (!isDeepEqual(permissions, JSON.parse(text) as unknown))
    return 'expected rules that are JSON, got others'
  const bytes = utf8Length(text)
  return bytes > MOST_BYTES
    ? `expected rules of at most ${MOST_BYTES} bytes of JSON, got ${bytes}`
    : undefined
}

function isDeepEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return one === other
  const [keys, others] = [Object.keys(one), Object.keys(other)]
  const isKind = Array.isArray(one) ? Array.isArray(other) : isPlainObject(one)
  if (!isKind || keys.length !== others.length) return false
  const fields = new Map<string, unknown>(Object.entries(other))
  return Object.entries(one).every(([key, value]) => fields.has(key) && isDeepEqual(value, fields.get(key)))
}

function ruleProblem(rule: string, value: unknown): string | undefined {
  const name = rule.endsWith('.*') ? rule.slice(0, -2) : rule
  if (rule !== '*' && capabilityProblem(name) !== undefined)
    return `expected a capability, "namespace.*" or "*" as the key of a rule, got ${show(rule)}`
  const isKnown = typeof value === 'boolean' || isEffect(value)
  if (isKnown || (typeof value === 'object' && value !== null && !Array.isArray(value))) return undefined
  return `expected "allow", "require_approval", "deny", true, false or an object for "${rule}", got ${show(value)}`
}

function show(value: unknown): string {
  if (value === null || Array.isArray(value)) return value === null ? 'null' : 'an array'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  return typeof value === 'number' ? String(value) : typeof value
}
