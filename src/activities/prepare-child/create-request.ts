/** `subagent_create`: a new instance of a subagent that stays, in the order of its checks. */
import { parseArguments, parseObject } from '../../definitions/tool-arguments.js'
import type { ActivityDependencies } from '../dependencies.js'
import { givenPaths, givenText } from '../execute-tool/given-arguments.js'
import { mappedPaths, mappedText } from '../execute-tool/mapped-arguments.js'
import { waitForDefinition } from '../plan-content.js'
import { enabledNow } from '../variables/active-scope.js'
import type { ActivePrompt } from '../variables/active-scope.js'
import { invalid, refusal } from './requested-children.js'
import type { RequestedChildren, Subject } from './requested-children.js'

type Fields = Readonly<Record<string, unknown>>

export async function createRequest(
  dependencies: ActivityDependencies,
  active: ActivePrompt,
  rawJson: string,
): Promise<RequestedChildren> {
  const parsed = parseObject(rawJson)
  if (!parsed.ok) return invalid(parsed.problem)
  const { args: fields } = parsed
  const { agent: agentName } = fields
  const subagents = (await enabledNow(dependencies, active)).filter(({ resumable }) => resumable !== null)
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
  return instanceOf(dependencies, { binding, agent }, fields)
}

function instanceOf({ registry }: ActivityDependencies, subject: Subject, fields: Fields): RequestedChildren {
  const { binding, agent } = subject
  const name = givenText(fields, 'name')
  if (name === null)
    return invalid('Expected "name" as a text that is not blank: what the instance is called.')
  const message = fields['message'] === undefined ? undefined : givenText(fields, 'message')
  if (message === null || (message === undefined && fields['arguments'] === undefined))
    return invalid('Expected "message" as a text that is not blank: what the instance is to do.')
  const paths = givenPaths(fields)
  if (paths === null) return invalid('Expected "attachments" as a list of paths of files in this thread.')
  const args = argumentsOf(registry.prompt(agent.sideA.prompt)?.requiredSchema, fields['arguments'])
  if (!args.ok) return invalid(`arguments: ${args.problem}`)
  const mapped = mappedPaths(args.args, binding.initAttachmentsProperty)
  if (typeof mapped === 'string') return invalid(mapped)
  const words = message ?? mappedText(args.args, binding.initUserMessageProperty) ?? JSON.stringify(args.args)
  return {
    kind: 'requested',
    subject,
    children: [{ name, message: words, paths: [...new Set([...paths, ...mapped])] }],
  }
}

/** They are optional: the message says what is to be done. */
function argumentsOf(
  schema: Parameters<typeof parseArguments>[0],
  given: unknown,
): ReturnType<typeof parseArguments> {
  return given === undefined ? { ok: true, args: {} } : parseArguments(schema, JSON.stringify(given))
}
