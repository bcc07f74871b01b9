import type { Registry } from './known-definitions.js'
import { listedTools } from './listed-tools.js'
import type { PromptDefinition } from './prompt.js'
import { registered } from './registered.js'

/** These prompts and all that they reach as tools, each once. */
export function reachablePrompts(
  registry: Registry,
  names: readonly string[],
): ReadonlyMap<string, PromptDefinition> {
  const reached = new Map<string, PromptDefinition>()
  const waiting = [...names]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (reached.has(name)) continue
    const prompt = registered(registry.prompt(name), `prompt '${name}'`)
    reached.set(name, prompt)
    for (const listed of listedTools(registry, prompt))
      if (listed.kind === 'prompt') waiting.push(listed.name)
  }
  return reached
}
