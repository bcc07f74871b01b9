import type { ModelDefinition } from '../../definitions/model.js'
import type { Registry } from '../../definitions/registry.js'
import { waitForDefinition } from '../plan-content.js'
import type { ModelStep } from './model-step.js'

/**
 * The prompt's model and its own fallbacks, in the order in which they are asked. One that this worker lacks counts as
 * one that failed; none at all gives an empty list.
 * @throws `Definition.Missing` while another worker may have the prompt's model
 */
export function candidatesOf(
  registry: Registry,
  { content, prompt }: Pick<ModelStep, 'content' | 'prompt'>,
): readonly ModelDefinition[] {
  if (registry.model(prompt.model) === undefined) waitForDefinition(`model "${prompt.model}"`)
  const names = [prompt.model, ...(content.models[prompt.model]?.fallbacks ?? [])]
  return names.flatMap((name) => registry.model(name) ?? [])
}
