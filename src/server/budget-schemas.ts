/** The OpenAPI schemas of budgets. */
import { z } from '@hono/zod-openapi'

const numbers = {
  maxSteps: z.number().optional(),
  maxModelCalls: z.number().optional(),
  maxToolCalls: z.number().optional(),
  maxRuntimeSeconds: z.number().optional(),
  maxInputTokens: z.number().optional(),
  maxOutputTokens: z.number().optional(),
  maxCost: z.number().optional().openapi({ description: 'US dollars.' }),
}

/** One budget, which the client checks. */
const budget = z
  .strictObject({
    ...numbers,
    onExceeded: z.enum(['end', 'ask']).optional().openapi({
      description: '`ask`: a person may raise the limit, and the same run goes on. Default: `end`.',
    }),
    approval: z
      .strictObject({ roles: z.array(z.string()).optional(), fourEyes: z.boolean().optional() })
      .optional()
      .openapi({ description: 'Who may raise it.' }),
    warnAt: z.number().optional().openapi({ description: 'The share of a limit that is worth a warning.' }),
    tellModel: z.boolean().optional().openapi({ description: 'True: the model reads what is left.' }),
  })
  .openapi('Budget')

export const threadBudgets = z
  .strictObject({
    run: budget.optional().openapi({ description: 'Of each run.' }),
    thread: budget.optional().openapi({ description: 'Of the thread.' }),
    tree: budget.optional().openapi({ description: 'Of the thread with all of its subagents.' }),
  })
  .openapi('Budgets')

export const ownerBudgets = z
  .strictObject({
    total: budget.optional(),
    hour: budget.optional().openapi({ description: 'Each hour of UTC.' }),
    day: budget.optional(),
    month: budget.optional(),
  })
  .openapi('OwnerBudgets')

const subject = {
  scope: z.enum(['run', 'thread', 'tree', 'user', 'account']),
  period: z.enum(['total', 'hour', 'day', 'month']),
}

export const budgetState = z
  .object({
    ...subject,
    limits: z.object(numbers).openapi({ description: 'As persons have raised them.' }),
    used: z.object(numbers).openapi({ description: 'Of the same limits.' }),
  })
  .openapi('BudgetState')
