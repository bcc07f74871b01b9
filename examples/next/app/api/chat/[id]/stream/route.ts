import { routes } from '../../../../../lib/routes.ts'

export const GET = routes.resume
