import type { ModelDefinition } from './model.js'

/** The same model without the old names of fields, so that no reader has to know them. */
export function normalizedModel<Model extends ModelDefinition>(model: Model): Model {
  if (model.capabilities?.vision === undefined) return model
  const { vision, ...capabilities } = model.capabilities
  return { ...model, capabilities: { supportsImages: vision, ...capabilities } }
}
