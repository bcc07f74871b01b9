/**
 * The practice model of `everthread dev`: it stands in for a model whose provider has no key, so that a new project answers, calls
 * its tools and asks for approvals without an account.
 *
 * It owns: which models lack a key, and what is said in their place. It does not own what is done with the answer: the thread is a
 * real one.
 * Invariants: it is deterministic; a model whose provider has a key, from wherever it comes, is never replaced; only `dev` knows it,
 * so that a worker of production without a key fails and does not pretend.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from '../../definitions/known-definitions.js'
import type { ModelDefinition } from '../../definitions/model.js'
import { scriptedModel } from '../../model/scripted-model.js'
import type { ScriptedAnswer } from '../../model/scripted-model.js'
import type { ScriptedRequest } from '../../model/scripted-request.js'
import { isObject } from '../../protocol/values.js'

interface Practising {
  readonly registry: Registry
  /** Some model was replaced. */
  readonly isPractising: boolean
}

/** Replaces the models that have no key. */
export async function withPracticeModel(registry: Registry): Promise<Practising> {
  const model = scriptedModel(practiceAnswer)
  const replaced = new Map<string, ModelDefinition>()
  await Promise.all(
    registry.names().models.map(async (name) => {
      const definition = registry.model(name)
      if (definition !== undefined && (await lacksKey(definition)))
        replaced.set(name, { ...definition, ...FREE, provider: { languageModel: () => model } })
    }),
  )
  const practising = { ...registry, model: (name: string) => replaced.get(name) ?? registry.model(name) }
  return { registry: practising, isPractising: replaced.size > 0 }
}

/** It costs nothing, so that a budget of money can be tried. */
const FREE = { inputPrice: 0, outputPrice: 0, cachedPrice: 0 } as const

/** Reading credentials is local work; a provider that takes longer asks some service, and is left alone. */
const PATIENCE = 1000

/** A key that is set to nothing is none, for people; the AI SDK would send it. */
export function dropEmptyKeys(environment: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(environment))
    if (value === '' && name.endsWith('_API_KEY')) delete environment[name]
}

/**
 * Asks the provider itself, which alone knows from where its key comes: it looks for the key before it sends anything, and the
 * request is aborted before it begins.
 */
async function lacksKey({ provider, model: id }: ModelDefinition): Promise<boolean> {
  const ask = async (): Promise<boolean> => {
    const model = provider.languageModel(id)
    // It answers without a key, and would count the question.
    if (model.provider === 'scripted') return false
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }]
    await model.doStream({ prompt, abortSignal: AbortSignal.abort() })
    return false
  }
  return Promise.race([ask().catch(isMissingKey), delay(PATIENCE, false, { ref: false })])
}

/** The name of the error is that of the AI SDK, of whose packages there may be several copies. */
function isMissingKey(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_LoadAPIKeyError'
}

/** Milliseconds: as fast as a person reads, so that streaming is visible. */
const WORD_DELAY = 40

/** Calls the tool whose name a person writes; else says what it can do. */
export function practiceAnswer({ messages, tools, raw }: ScriptedRequest): ScriptedAnswer {
  const last = messages.at(-1)
  const answer = (text: string): ScriptedAnswer => ({ text, wordDelay: WORD_DELAY })
  const text = last?.text ?? ''
  const tool = last?.role === 'tool' ? undefined : findTool(text, tools)
  if (tool !== undefined)
    return { toolCalls: [{ name: tool.name, args: makeArguments(text, tool.inputSchema) }] }
  // An answer that has to be JSON is made as the arguments of a tool are.
  const { responseFormat: format } = raw
  if (format?.type === 'json') return answer(JSON.stringify(makeArguments(text, format.schema)))
  if (last?.role === 'tool') return answer(`The answer of the tool: ${text}`)
  if (/\b(long|story|tell)\b/i.test(text)) return answer(longText())
  const names = tools.map(({ name }) => `"${name.replaceAll('_', ' ')}"`)
  const offer =
    names.length === 0
      ? 'This agent has no tools.'
      : `Write the name of a tool, and I call it: ${names.join(', ')}.`
  return answer(
    `I am the practice model, because no key of a provider is set. You wrote: "${text.slice(0, 200)}". ${offer} ` +
      'Write "tell me a long story" to see a long answer.',
  )
}

/** The tool of whose name each word is in the text; the longest name, if there are several. */
function findTool(
  text: string,
  tools: ScriptedRequest['tools'],
): ScriptedRequest['tools'][number] | undefined {
  const words = new Set(text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
  return tools
    .filter(({ name }) =>
      name
        .toLowerCase()
        .split(/[^a-z0-9]+/)
        .every((word) => words.has(word)),
    )
    .toSorted((a, b) => b.name.length - a.name.length)[0]
}

/** Fills the arguments that a tool requires with what is in the text: numbers, and codes such as A-17. */
function makeArguments(text: string, schema: unknown): Readonly<Record<string, unknown>> {
  const { properties, required } = isObject(schema) ? schema : {}
  if (!isObject(properties)) return {}
  const needed = Array.isArray(required) ? required : []
  const found = text.match(/[\w-]*\d[\w.-]*\w|\d/g) ?? []
  const numbers = found.filter((one) => !Number.isNaN(Number(one)))
  const codes = found.filter((one) => Number.isNaN(Number(one)))
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => needed.includes(name))
      .map(([name, property]) => [
        name,
        makeValue(isObject(property) ? property : {}, { text, numbers, codes }),
      ]),
  )
}

interface Found {
  readonly text: string
  readonly numbers: string[]
  readonly codes: string[]
}

function makeValue(property: Readonly<Record<string, unknown>>, { text, numbers, codes }: Found): unknown {
  const { type, enum: choices } = property
  if (Array.isArray(choices)) return choices[0]
  if (type === 'number' || type === 'integer') return Number(numbers.shift() ?? 1)
  if (type === 'boolean') return true
  if (type === 'array') return []
  if (type === 'object') return {}
  return codes.shift() ?? numbers.shift() ?? text
}

const SENTENCES = [
  'Once there was a thread that nobody could end.',
  'Its worker was killed in the middle of a word.',
  'Another worker read what had been written, and went on.',
  'Then somebody deployed, and the thread took no notice.',
  'It waited for a person over a long weekend, at no cost.',
]

function longText(): string {
  const parts = Array.from({ length: 4 }, (_, index) => `Part ${index + 1}. ${SENTENCES.join(' ')}`)
  return `${parts.join('\n\n')}\n\nThat is the end of the story.`
}
