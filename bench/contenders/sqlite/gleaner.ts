export { contender } from '../gleaner.ts'
