import type { KnownDefinitions } from './known-definitions.js'
import type { ModelDefinition } from './model.js'
import { repeated } from './name-problems.js'
import { meant } from './near-name.js'

/** Says what a model refers to that is not there or cannot be used so. */
export function modelProblems(model: ModelDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `model '${model.name}'`
  const { fallbacks = [], capabilities } = model
  const isTwice = capabilities?.vision !== undefined && capabilities.supportsImages !== undefined
  return [
    ...fallbacks
      .filter((name) => !known.names.models.has(name))
      .map(
        (name) =>
          `${owner} falls back to the model '${name}', which is not registered${meant(name, known.names.models)}`,
      ),
    ...(fallbacks.includes(model.name) ? [`${owner} falls back to itself`] : []),
    ...repeated(fallbacks).map((name) => `${owner} falls back to the model '${name}' twice`),
    ...(isTwice
      ? [`${owner} has both capabilities.supportsImages and its old name vision: leave vision out`]
      : []),
  ]
}

/** Says what is allowed in a model but probably not meant. */
export function modelWarnings(model: ModelDefinition): readonly string[] {
  if (model.capabilities?.vision === undefined) return []
  return [`model '${model.name}' uses the old name capabilities.vision: write supportsImages`]
}
