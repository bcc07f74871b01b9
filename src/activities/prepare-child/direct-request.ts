import type { Registry } from '../../definitions/registry.js'
import { parseArguments, parseObject } from '../../definitions/tool-arguments.js'
import { LIMITS } from '../../protocol/limits.js'
import { mappedPaths, mappedText } from '../execute-tool/mapped-arguments.js'
import { invalid } from './requested-children.js'
import type { RequestedChild, RequestedChildren, Subject } from './requested-children.js'

/** A call of a subagent by its own name: its arguments are the child's, or a list of them for several in one go. */
export function directRequest(registry: Registry, subject: Subject, rawJson: string): RequestedChildren {
  const children: RequestedChild[] = []
  const texts = subject.binding.fanOut ? itemsOf(rawJson) : [rawJson]
  if (typeof texts === 'string') return invalid(texts)
  for (const [index, text] of texts.entries()) {
    const child = childOf(registry, subject, text)
    if (typeof child === 'string')
      return invalid(subject.binding.fanOut ? `items[${index}]: ${child}` : child)
    children.push(child)
  }
  return { kind: 'requested', subject, children }
}

/** Each as JSON. */
function itemsOf(rawJson: string): readonly string[] | string {
  const parsed = parseObject(rawJson)
  if (!parsed.ok) return parsed.problem
  const { items } = parsed.args
  if (Array.isArray(items) && items.length > 0 && items.length <= LIMITS.fanOut)
    return items.map((item) => JSON.stringify(item))
  const came = Array.isArray(items) ? `${items.length} of them` : 'something else'
  return `Expected "items" as a list of 1 to ${LIMITS.fanOut} arguments, got ${came}.`
}

/** A sentence where the arguments are wrong. */
function childOf(registry: Registry, { binding, agent }: Subject, rawJson: string): RequestedChild | string {
  const parsed = parseArguments(registry.prompt(agent.sideA.prompt)?.requiredSchema, rawJson)
  if (!parsed.ok) return parsed.problem
  const { args } = parsed
  const paths = mappedPaths(args, binding.initAttachmentsProperty)
  if (typeof paths === 'string') return paths
  const name = mappedText(args, binding.initAgentNameProperty) ?? agent.title ?? agent.name
  const message = mappedText(args, binding.initUserMessageProperty) ?? JSON.stringify(args)
  return { name, message, paths }
}
