import type { PromptDefinition } from './prompt.js'

/** The names of the prompts whose text is part of this one's, as it names them itself. */
export function includedPrompts({ prompt }: Pick<PromptDefinition, 'prompt'>): readonly string[] {
  if (typeof prompt === 'string') return []
  return prompt.flatMap((part) => (part.type === 'include' ? [part.prompt] : []))
}
