import { routes } from '../../../../../lib/routes.ts'

export const GET = routes.load
export const POST = routes.send
