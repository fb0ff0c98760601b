import { sources } from '../../tools/docs/sources.ts'

/** Files of the repository that pages link to. */
export default {
  paths: () => sources().map(({ name, content }) => ({ params: { file: name }, content })),
}
