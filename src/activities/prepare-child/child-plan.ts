import { namedTool } from '../../definitions/listed-tools.js'
import { LIFECYCLE_TOOLS } from '../../definitions/lifecycle-tools.js'
import type { SubagentContent } from '../../definitions/plan-content.js'
import { subagentContent } from '../../definitions/subagent-content.js'
import type { PrepareChildInput } from '../../protocol/child-activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { utf8Length } from '../../protocol/utf8-length.js'
import { findThread } from '../../store/threads.js'
import { missingFile } from '../attachments.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { waitForDefinition } from '../plan-content.js'
import { enabledNow, notEnabled } from '../variables/active-scope.js'
import type { ActivePrompt } from '../variables/active-scope.js'
import { missingScoped } from '../variables/missing-scoped.js'
import type { RequiredVariables } from '../variables/missing-variables.js'
import { createRequest } from './create-request.js'
import { directRequest } from './direct-request.js'
import { givenVariables } from './given-variables.js'
import type { GivenVariable } from './given-variables.js'
import { instanceCapProblem } from './instance-cap.js'
import { refusal } from './requested-children.js'
import type { RequestedChild, RequestedChildren, Subject } from './requested-children.js'

type Refused = Extract<RequestedChildren, { readonly kind: 'refused' }>

/** What children begin with, or why the call cannot be done, in words for the model. */
export type ChildPlan =
  | Refused
  | {
      readonly kind: 'children'
      readonly subject: Subject
      readonly children: readonly RequestedChild[]
      readonly depth: number
      /** Values that the parent hands over. */
      readonly given: readonly GivenVariable[]
      /** What they cannot run without. */
      readonly variables: RequiredVariables
    }

export interface Asking extends ActivePrompt {
  readonly input: PrepareChildInput
}

export async function childPlan(
  dependencies: ActivityDependencies,
  call: HeldCall,
  asking: Asking,
): Promise<ChildPlan> {
  const { name, arguments: rawJson } = call.row
  const asked =
    name === LIFECYCLE_TOOLS.create
      ? await createRequest(dependencies, asking, rawJson)
      : await byOwnName(dependencies, call, asking)
  if (asked.kind === 'refused') return asked
  const { subject, children } = asked
  const problem = await problemOf(dependencies, asking.input, asked)
  if (problem !== null) return problem
  const { threadId } = asking.input
  const depth = ((await dependencies.store.read((db) => findThread(db, threadId)))?.depth ?? 0) + 1
  if (depth >= LIMITS.childDepth)
    return refusal(`Subagents are nested ${depth} deep here, the deepest they may be.`)
  const given = await givenVariables(dependencies, call, { ...asking, binding: subject.binding })
  if (typeof given === 'string') return refusal(given, 'no_secret_key')
  const names = new Set(given.map((variable) => variable.name))
  const variables = await missingScoped(dependencies, { threadId, agent: subject.agent.name, given: names })
  return { kind: 'children', subject, children, depth, given, variables }
}

/** A subagent that is called by its own name. */
async function byOwnName(
  dependencies: ActivityDependencies,
  { row }: HeldCall,
  asking: Asking,
): Promise<RequestedChildren> {
  const { registry } = dependencies
  const binding = bindingOf(dependencies, asking, row.name)
  const agent = registry.agent(binding.agent)
  if (agent === undefined) {
    waitForDefinition()
    return refusal(`The agent "${binding.agent}" is not available at the moment.`, 'unknown_tool')
  }
  if (binding.optional !== null && !(await enabledNow(dependencies, asking)).includes(binding))
    return refusal(...notEnabled(binding.agent))
  return directRequest(registry, { binding, agent }, row.arguments)
}

/** As the active prompt lists it; a tool that code has queued is listed by none, and the registry says what it is. */
function bindingOf(
  { registry }: ActivityDependencies,
  { prompt, input }: Asking,
  name: string,
): SubagentContent {
  const { subagents } = prompt
  const listed = Object.hasOwn(subagents, name) ? subagents[name] : undefined
  if (listed !== undefined) return listed
  const named = input.queued ? namedTool(registry, name) : undefined
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
    const missing = await store.read((db) => missingFile(db, threadId, paths))
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
