import type { AgentDefinition } from '../agent.js'
import type { AnyHook } from '../hook.js'
import type { KnownDefinitions } from '../known-definitions.js'
import type { LanguageModelProvider, ModelDefinition } from '../model.js'
import type { PromptDefinition } from '../prompt.js'
import type { Agent } from '../short-form/agent.js'
import { suggestName } from '../../protocol/values.js'
import { findRepeated } from './hints.js'

/** Lists the hooks of an agent or a prompt that are unknown or listed twice. */
export function hookListProblems(
  owner: string,
  ids: readonly string[],
  known: KnownDefinitions,
): readonly string[] {
  return [
    ...ids
      .filter((id) => !known.names.hooks.has(id))
      .map(
        (id) =>
          `${owner} lists the hook '${id}', which is not registered${suggestName(id, known.names.hooks)}`,
      ),
    ...findRepeated(ids).map((id) => `${owner} lists the hook '${id}' twice`),
  ]
}

/** The compiler cannot check a name of type `string`; `registry()` checks it at run time. */
type Missing<Used, Known> = string extends Known | Used ? never : Exclude<Used, Known>

type Sentence<Owner extends string, Does extends string, Name> = [Name] extends [never]
  ? never
  : `${Owner} ${Does} '${Name & string}', which is not registered`

type Names<Definitions extends readonly { readonly name: string }[]> = Definitions[number]['name']

/** The names of the definitions of one registry. */
export interface RegisteredNames<
  Agents extends readonly (AgentDefinition | Agent)[],
  Prompts extends readonly PromptDefinition[],
  Models extends readonly ModelDefinition[],
  Tools,
  Hooks extends readonly AnyHook[],
> {
  readonly agents: Names<Agents>
  readonly prompts: Names<Prompts>
  readonly models: Names<Models>
  readonly tools: keyof Tools & string
  readonly hooks: Hooks[number]['id']
}

/** The names of the models of a registry. Agents in the short form bring models whose names the compiler does not know. */
export type ModelNames<
  Agents extends readonly (AgentDefinition | Agent)[],
  Models extends readonly ModelDefinition[],
> = Extract<Agents[number], Agent> extends never ? Names<Models> : string

interface Known {
  readonly agents: string
  readonly prompts: string
  readonly models: string
  readonly tools: string
  readonly hooks: string
}

/** The definition itself, or the sentence that says which of its names is not registered. */
export type CheckedAgent<Definition, N extends Known> = Definition extends Agent
  ? Definition
  : Definition extends AgentDefinition<infer Name, infer Prompt, infer Tool, infer Hook>
    ? Verdict<
        Definition,
        | Sentence<`agent '${Name}'`, 'uses the prompt', Missing<Prompt, N['prompts']>>
        | Sentence<`agent '${Name}'`, 'names the tool', Missing<Tool, N['tools']>>
        | Sentence<`agent '${Name}'`, 'lists the hook', Missing<Hook, N['hooks']>>
      >
    : never

/** The definition itself, or the sentence that says which of its names is not registered. */
export type CheckedPrompt<Definition, N extends Known> =
  Definition extends PromptDefinition<infer Name, infer Model, infer Callable, infer Include, infer Hook>
    ? Verdict<
        Definition,
        | Sentence<`prompt '${Name}'`, 'uses the model', Missing<Model, N['models']>>
        | Sentence<`prompt '${Name}'`, 'lists the tool', Missing<Callable, N['tools' | 'agents' | 'prompts']>>
        | Sentence<`prompt '${Name}'`, 'includes the prompt', Missing<Include, N['prompts']>>
        | Sentence<`prompt '${Name}'`, 'lists the hook', Missing<Hook, N['hooks']>>
      >
    : never

/** The definition itself, or the sentence that says which of its names is not registered. */
export type CheckedModel<Definition, N extends Known> =
  Definition extends ModelDefinition<infer Name, LanguageModelProvider, infer Fallback>
    ? Verdict<
        Definition,
        Sentence<`model '${Name}'`, 'falls back to the model', Missing<Fallback, N['models']>>
      >
    : never

type Verdict<Definition, Problem> = [Problem] extends [never] ? Definition : Problem

/** The name in what may be written as a name alone, or as an object with one. */
export function entryName(entry: string | { readonly name: string }): string {
  return typeof entry === 'string' ? entry : entry.name
}
