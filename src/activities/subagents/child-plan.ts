/**
 * The plan of a call that starts children: their inputs, or the reason why the call is refused.
 *
 * Owns: the checks of a call's arguments, the limits of children, and the variables that children get at their start.
 * Does not own: rows and ids (prepare-child.ts).
 */
import type { AgentDefinition } from '../../definitions/agent.js'
import type { Registry } from '../../definitions/known-definitions.js'
import { LIFECYCLE_TOOLS } from '../../definitions/plan/lifecycle-tools.js'
import { findTool } from '../../definitions/plan/listed-tools.js'
import type { PromptContent, SubagentContent } from '../../definitions/plan/plan-content.js'
import { subagentContent } from '../../definitions/plan/prompt-content.js'
import { parseArguments, parseObject, subagentArguments } from '../../definitions/plan/tool-arguments.js'
import type { PrepareChildInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { utf8Length } from '../../protocol/values.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Reader } from '../../store/store.js'
import { readOpenInstances } from '../../store/threads/children.js'
import { findThread } from '../../store/threads/threads.js'
import type { ActivityDependencies } from '../activity.js'
import { missingFileProblem } from '../attachments.js'
import { waitForDefinition } from '../plan-content.js'
import { failureResult } from '../tool/call-result.js'
import type { CallResult } from '../tool/call-result.js'
import type { HeldCall } from '../tool/held-call.js'
import { readMappedPaths, readMappedText, pathsField, textField } from '../tool/tool-values.js'
import { listEnabledNow, notEnabled, scopeOf } from '../variables/resolved-prompt.js'
import type { ActivePrompt } from '../variables/resolved-prompt.js'
import { agentGraph, missingScoped, resolveVariables } from '../variables/variables.js'
import type { RequiredVariables } from '../variables/variables.js'
import { nameOfChild } from './report-text.js'

type Refused = Extract<RequestedChildren, { readonly kind: 'refused' }>

/** The children of a call and their inputs, or the reason why the call is refused, as text for the model. */
type ChildPlan =
  | Refused
  | {
      readonly kind: 'children'
      readonly subject: Subject
      readonly children: readonly RequestedChild[]
      readonly depth: number
      /** The values that the parent passes on. */
      readonly given: readonly GivenVariable[]
      /** The variables that they require. */
      readonly variables: RequiredVariables
    }

interface CallingPrompt extends ActivePrompt {
  readonly input: PrepareChildInput
}

export async function planChildren(
  dependencies: ActivityDependencies,
  call: HeldCall,
  asking: CallingPrompt,
): Promise<ChildPlan> {
  const { name, arguments: rawJson } = call.row
  const asked =
    name === LIFECYCLE_TOOLS.create
      ? await planInstance(dependencies, asking, rawJson)
      : await planByName(dependencies, call, asking)
  if (asked.kind === 'refused') return asked
  const { subject, children } = asked
  const problem = await problemOf(dependencies, asking.input, asked)
  if (problem !== null) return problem
  const { threadId } = asking.input
  const depth = ((await dependencies.store.read((db) => findThread(db, threadId)))?.depth ?? 0) + 1
  if (depth >= LIMITS.childDepth)
    return refusal(`Subagents are nested ${depth} deep here, the deepest they may be.`)
  const given = await resolveScopedEnv(dependencies, call, { ...asking, binding: subject.binding })
  if (typeof given === 'string') return refusal(given, 'no_secret_key')
  const names = new Set(given.map((variable) => variable.name))
  const variables = await missingScoped(dependencies, { threadId, agent: subject.agent.name, given: names })
  return { kind: 'children', subject, children, depth, given, variables }
}

/** Plans a subagent that is called by its own name. */
async function planByName(
  dependencies: ActivityDependencies,
  { row }: HeldCall,
  asking: CallingPrompt,
): Promise<RequestedChildren> {
  const { registry } = dependencies
  const binding = bindingOf(dependencies, asking, row.name)
  const agent = registry.agent(binding.agent)
  if (agent === undefined) {
    waitForDefinition()
    return refusal(`The agent "${binding.agent}" is not available at the moment.`, 'unknown_tool')
  }
  if (binding.optional !== null && !(await listEnabledNow(dependencies, asking)).includes(binding))
    return refusal(...notEnabled(binding.agent))
  return planDirectCall(registry, { binding, agent }, row.arguments)
}

/** Whether an agent that may be called here needs authority. */
export function isAnyAgentProtected(
  { registry }: Pick<ActivityDependencies, 'registry'>,
  { subagents }: Pick<PromptContent, 'subagents'>,
): boolean {
  const registered = registry.names().agents.map((name) => registry.agent(name))
  return [...Object.values(subagents), ...registered].some((agent) => agent?.capabilities !== undefined)
}

/** The authority that a call of an agent needs, as the prompt lists it, or as the registry has it. */
export function capabilitiesOfAgent(
  { registry }: Pick<ActivityDependencies, 'registry'>,
  { subagents }: Pick<PromptContent, 'subagents'>,
  name: unknown,
): readonly string[] | undefined {
  if (typeof name !== 'string') return undefined
  const listed = Object.hasOwn(subagents, name) ? subagents[name] : undefined
  return (listed ?? registry.agent(name))?.capabilities
}

/**
 * Finds the subagent as the active prompt lists it. The registry describes one that code has queued and no prompt lists.
 */
function bindingOf(
  { registry }: ActivityDependencies,
  { prompt, input }: CallingPrompt,
  name: string,
): SubagentContent {
  const { subagents } = prompt
  const listed = Object.hasOwn(subagents, name) ? subagents[name] : undefined
  if (listed !== undefined) return listed
  const named = input.queued ? findTool(registry, name) : undefined
  if (named?.kind === 'subagent') return subagentContent(registry, named)
  throw new Error(`The plan does not say how "${name}" becomes a child.`)
}

async function problemOf(
  { store }: ActivityDependencies,
  { threadId, children: started, open }: PrepareChildInput,
  { subject, children }: Extract<RequestedChildren, { readonly kind: 'requested' }>,
): Promise<Refused | null> {
  const count = children.length
  for (const { message, paths } of children) {
    if (utf8Length(message) > LIMITS.messageBytes)
      return refusal(`Expected a message of at most ${LIMITS.messageBytes} bytes: put the rest into a file.`)
    if (paths.length > LIMITS.messageAttachments)
      return refusal(`Expected at most ${LIMITS.messageAttachments} attachments, got ${paths.length}.`)
    const missing = await store.read((db) => missingFileProblem(db, threadId, paths))
    if (missing !== null) return refusal(missing, 'invalid_attachment')
  }
  const cap = await store.read((db) => instanceCapProblem(db, threadId, subject.binding))
  if (cap !== null) return refusal(cap, 'max_instances')
  if (started + count > LIMITS.childrenInAll)
    return refusal(
      `This thread has started ${started} subagents; it may start ${LIMITS.childrenInAll} in all.`,
    )
  if (open + count > LIMITS.openChildren)
    return refusal(
      `${open} subagents of this thread are open, and ${LIMITS.openChildren} may be at a time. Wait for one of them.`,
    )
  return null
}

type Fields = Readonly<Record<string, unknown>>

/** Plans `subagent_create`: a new instance of a resumable subagent. The first failed check decides the refusal. */
async function planInstance(
  dependencies: ActivityDependencies,
  active: ActivePrompt,
  rawJson: string,
): Promise<RequestedChildren> {
  const parsed = parseObject(rawJson)
  if (!parsed.ok) return refuseArguments(parsed.problem)
  const { args: fields } = parsed
  const { agent: agentName } = fields
  const subagents = (await listEnabledNow(dependencies, active)).filter(({ resumable }) => resumable !== null)
  const binding = subagents.find(({ agent }) => agent === agentName)
  if (binding === undefined) {
    const names = subagents.map(({ agent }) => agent).join(', ')
    const offered = names === '' ? 'There is none at the moment.' : `Expected one of: ${names}.`
    return refusal(`"agent" names no agent that can be created. ${offered}`, 'unknown_agent')
  }
  const agent = dependencies.registry.agent(binding.agent)
  if (agent === undefined) {
    waitForDefinition()
    return refusal(`The agent "${binding.agent}" is not available at the moment.`, 'unknown_agent')
  }
  return planNewInstance(dependencies, { binding, agent }, fields)
}

function planNewInstance(
  { registry }: ActivityDependencies,
  subject: Subject,
  fields: Fields,
): RequestedChildren {
  const { binding, agent } = subject
  const name = textField(fields, 'name')
  if (name === null)
    return refuseArguments('Expected "name" as a text that is not blank: what the instance is called.')
  const message = fields['message'] === undefined ? undefined : textField(fields, 'message')
  if (message === null || (message === undefined && fields['arguments'] === undefined))
    return refuseArguments('Expected "message" as a text that is not blank: what the instance is to do.')
  const paths = pathsField(fields)
  if (paths === null)
    return refuseArguments('Expected "attachments" as a list of paths of files in this thread.')
  const args = argumentsOf(registry.prompt(agent.sideA.prompt)?.requiredSchema, fields['arguments'])
  if (!args.ok) return refuseArguments(`arguments: ${args.problem}`)
  const mapped = readMappedPaths(args.args, binding.initAttachmentsProperty)
  if (typeof mapped === 'string') return refuseArguments(mapped)
  const words =
    message ?? readMappedText(args.args, binding.initUserMessageProperty) ?? JSON.stringify(args.args)
  return {
    kind: 'requested',
    subject,
    children: [{ name, message: words, paths: [...new Set([...paths, ...mapped])] }],
  }
}

/** The arguments are optional, because the message states the task. */
function argumentsOf(
  schema: Parameters<typeof parseArguments>[0],
  given: unknown,
): ReturnType<typeof parseArguments> {
  return given === undefined ? { ok: true, args: {} } : parseArguments(schema, JSON.stringify(given))
}

/**
 * Plans a call of a subagent by its own name. Its arguments are those of the child, or a list of them for several children.
 */
function planDirectCall(registry: Registry, subject: Subject, rawJson: string): RequestedChildren {
  const children: RequestedChild[] = []
  const texts = subject.binding.fanOut ? itemsOf(rawJson) : [rawJson]
  if (typeof texts === 'string') return refuseArguments(texts)
  for (const [index, text] of texts.entries()) {
    const child = childOf(registry, subject, text)
    if (typeof child === 'string')
      return refuseArguments(subject.binding.fanOut ? `items[${index}]: ${child}` : child)
    children.push(child)
  }
  return { kind: 'requested', subject, children }
}

/** Returns the arguments of each child as JSON, or a sentence for the model. */
function itemsOf(rawJson: string): readonly string[] | string {
  const parsed = parseObject(rawJson)
  if (!parsed.ok) return parsed.problem
  const { items } = parsed.args
  if (Array.isArray(items) && items.length > 0 && items.length <= LIMITS.fanOut)
    return items.map((item) => JSON.stringify(item))
  const came = Array.isArray(items) ? `${items.length} of them` : 'something else'
  return `Expected "items" as a list of 1 to ${LIMITS.fanOut} arguments, got ${came}.`
}

/** Returns one child, or a sentence for the model if its arguments are invalid. */
function childOf(registry: Registry, { binding, agent }: Subject, rawJson: string): RequestedChild | string {
  const own = registry.prompt(agent.sideA.prompt)?.requiredSchema
  const parsed = parseArguments(subagentArguments(own, binding).schema, rawJson)
  if (!parsed.ok) return parsed.problem
  const { args } = parsed
  const paths = readMappedPaths(args, binding.initAttachmentsProperty)
  if (typeof paths === 'string') return paths
  const name = readMappedText(args, binding.initAgentNameProperty) ?? agent.title ?? agent.name
  const message = readMappedText(args, binding.initUserMessageProperty) ?? JSON.stringify(args)
  return { name, message, paths }
}

/** A variable that a child gets at its start. */
interface GivenVariable {
  readonly name: string
  readonly value: string
  readonly type: 'text' | 'secret'
}

/** Resolves the values of `scopedEnv`, or returns a sentence if a secret among them cannot be stored. */
async function resolveScopedEnv(
  dependencies: ActivityDependencies,
  { input, row }: HeldCall,
  asking: ActivePrompt & { readonly binding: SubagentContent },
): Promise<readonly GivenVariable[] | string> {
  const { store, registry } = dependencies
  const { agent, immediate } = asking.binding
  if (immediate === null || immediate.scopedEnv.length === 0) return []
  // Only calls of immediate subagents are made by the runtime; models and code make all others.
  const holder = await store.read((db) => findMessage(db, input.threadId, row.message_id))
  if (holder?.metadata?.['immediate'] !== true) return []
  const values = await resolveVariables(dependencies, scopeOf(asking), immediate.scopedEnv)
  const secrets = secretNames(registry, agent)
  const given = [...values].map(([name, { type, open }]): GivenVariable => {
    return { name, value: open(), type: secrets.has(name) ? 'secret' : type }
  })
  const sealed = given.find(({ type }) => type === 'secret')
  if (sealed === undefined || store.secrets.keyIds.length > 0) return given
  return `The subagent "${agent}" is to be given the secret ${sealed.name}, and this worker has no EVERTHREAD_SECRET_KEY.`
}

/** Returns the names that the child's graph declares as secrets. */
function secretNames(registry: ActivityDependencies['registry'], agent: string): ReadonlySet<string> {
  const variables = agentGraph(registry, agent).flatMap(({ prompt }) => prompt.variables)
  return new Set(variables.flatMap(({ name, type }) => (type === 'secret' ? [name] : [])))
}

/** The input of one child. */
interface RequestedChild {
  /** The name of the instance. */
  readonly name: string
  readonly message: string
  /** Paths of the parent's files that are copied to it. */
  readonly paths: readonly string[]
}

/** The children that a call requests, or the reason why they cannot be started, as text for the model. */
type RequestedChildren =
  | { readonly kind: 'refused'; readonly result: CallResult }
  | { readonly kind: 'requested'; readonly subject: Subject; readonly children: readonly RequestedChild[] }

/** The agent of the children and its binding in the prompt. */
interface Subject {
  readonly binding: SubagentContent
  readonly agent: AgentDefinition
}

function refusal(
  reason: string,
  errorCode: string | null = null,
): Extract<RequestedChildren, { readonly kind: 'refused' }> {
  return { kind: 'refused', result: failureResult(reason, errorCode) }
}

/** The refusal of invalid arguments. */
function refuseArguments(reason: string): ReturnType<typeof refusal> {
  return refusal(reason, 'invalid_arguments')
}

/** Explains why no more instances of a subagent may start, and what to do instead; null below the limit. */
export async function instanceCapProblem(
  db: Reader,
  threadId: string,
  { agent, resumable }: SubagentContent,
): Promise<string | null> {
  const most = resumable?.maxInstances ?? null
  if (most === null) return null
  const open = await readOpenInstances(db, { parentThreadId: threadId, agent })
  if (open.length < most) return null
  const names = open.slice(0, 10).map((child) => `${nameOfChild(child)} (reference: ${child.reference})`)
  return (
    `The agent "${agent}" may have at most ${most} open instance${most === 1 ? '' : 's'}, and has ${open.length}. ` +
    `Use subagent_message to give work to one that exists: ${names.join(', ')}.`
  )
}
