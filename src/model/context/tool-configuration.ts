import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'

/** A tool as the model is told of it. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: LanguageModelV4FunctionTool['inputSchema']
}

/** The tools of a request, in the order given: the same tools are the same bytes (T12). */
export function toolConfiguration(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }))
}
