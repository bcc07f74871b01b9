import type { z } from 'zod'
import type { Registry } from './known-definitions.js'
import type { ToolDefinition } from './tool.js'

/** The agents of a registry, by name. */
export type AgentName<R> = R extends Registry<infer Agents, string, unknown> ? Agents : never

/** The models of a registry, by name. */
export type ModelName<R> = R extends Registry<string, infer Models, unknown> ? Models : never

/** The tools of a registry, by name. */
export type ToolName<R> = R extends { readonly tools: infer Tools }
  ? unknown extends Tools
    ? string
    : keyof Tools & string
  : never

/** What a caller writes as arguments of a tool: those with a default may be left out. */
export type ToolInput<R, Name extends ToolName<R>> = R extends { readonly tools: infer Tools }
  ? Name extends keyof Tools
    ? Tools[Name] extends ToolDefinition<infer Schema>
      ? Schema extends z.ZodObject
        ? z.input<Schema>
        : Record<string, never>
      : never
    : Record<string, unknown>
  : never
