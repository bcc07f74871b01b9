import type { Stage } from './stage.ts'
export async function crash(_stage: Stage): Promise<void> {}
