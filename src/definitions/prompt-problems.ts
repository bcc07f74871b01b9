import { argumentSchemaProblems } from './argument-schema.js'
import { entryName } from './entry-name.js'
import { listedHookProblems } from './hook-problems.js'
import { immediateWarnings } from './immediate-warnings.js'
import { includedPrompts } from './included-prompts.js'
import type { KnownDefinitions } from './known-definitions.js'
import { meant } from './near-name.js'
import type { PromptDefinition } from './prompt.js'
import { toolEntryProblems, toolEntryWarnings } from './tool-entry-problems.js'

/** Says what a prompt refers to that is not there or cannot be used so. */
export function promptProblems(prompt: PromptDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `prompt '${prompt.name}'`
  const problems: string[] = []
  if (!known.names.models.has(prompt.model)) {
    problems.push(
      `${owner} uses the model '${prompt.model}', which is not registered${meant(prompt.model, known.names.models)}`,
    )
  }
  problems.push(...includeProblems(owner, prompt, known))
  if (prompt.requiredSchema !== undefined) {
    problems.push(...argumentSchemaProblems(prompt.requiredSchema, `${owner}: requiredSchema`))
  }
  const listed = new Set<string>()
  for (const entry of prompt.tools ?? []) {
    const name = entryName(entry)
    if (listed.has(name)) problems.push(`${owner} lists the tool '${name}' twice`)
    else problems.push(...toolEntryProblems(owner, entry, known))
    listed.add(name)
  }
  problems.push(...listedHookProblems(owner, prompt.hooks ?? [], known))
  return problems
}

/** Says what is allowed in a prompt but probably not meant. */
export function promptWarnings(prompt: PromptDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `prompt '${prompt.name}'`
  return (prompt.tools ?? []).flatMap((entry) => [
    ...toolEntryWarnings(owner, entry, known),
    ...immediateWarnings(owner, entry, known),
  ])
}

function includeProblems(
  owner: string,
  prompt: PromptDefinition,
  known: KnownDefinitions,
): readonly string[] {
  const missing = includedPrompts(prompt).filter((name) => !known.names.prompts.has(name))
  const circle = includeCircle(prompt.name, [prompt.name], known)
  return [
    ...missing.map(
      (name) =>
        `${owner} includes the prompt '${name}', which is not registered${meant(name, known.names.prompts)}`,
    ),
    ...(circle === undefined ? [] : [`${owner} includes itself: ${circle.join(' > ')}`]),
  ]
}

/** The way from a prompt back to itself. Circles that do not touch it belong to the prompts on them. */
function includeCircle(
  start: string,
  path: readonly string[],
  known: KnownDefinitions,
): readonly string[] | undefined {
  const last = known.prompts.get(path.at(-1) ?? start)
  for (const name of last === undefined ? [] : includedPrompts(last)) {
    if (name === start) return [...path, name]
    const circle = path.includes(name) ? undefined : includeCircle(start, [...path, name], known)
    if (circle !== undefined) return circle
  }
  return undefined
}
