import type { Registry } from '../definitions/known-definitions.js'
import { buildPlan } from '../definitions/plan/build-plan.js'
import type { PriceList } from '../definitions/prices/defined-prices.js'
import type { Budget, Budgets } from '../policy/budget.js'
import { ConfigError } from '../protocol/errors.js'

interface PricedWorker {
  readonly registry: Registry
  readonly budgets?: Budgets | undefined
  readonly prices: PriceList
}

/**
 * Checks that all models of agents whose cost is limited by the worker or by themselves have prices: without one nobody can know
 * when the limit is reached. @throws ConfigError with each model
 */
export function checkPricesOfBudgets({ registry, budgets = {}, prices }: PricedWorker): void {
  const { run, thread, tree } = budgets
  const isLimited = [run, thread, tree].some(limitsCost)
  const problems = registry.names().agents.flatMap((name) => {
    const agent = registry.agent(name)
    if (!isLimited && !limitsCost(agent?.budget)) return []
    const content = buildPlan(registry, name, { prices })
    if ('missing' in content) return []
    return Object.entries(content.models).flatMap(([model, { inputPrice, outputPrice }]) =>
      inputPrice === null || outputPrice === null
        ? [
            `Expected prices of the model "${model}", because a budget limits the cost of the agent "${name}", got none: ` +
              `give its definition inputPrice and outputPrice, or the worker, or the test environment, prices: { '${registry.model(model)?.model ?? model}': … }.`,
          ]
        : [],
    )
  })
  if (problems.length > 0) throw new ConfigError(problems)
}

function limitsCost(budget: Budget | undefined): boolean {
  return budget?.maxCost !== undefined
}
