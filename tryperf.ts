import { defineTask, openGleaner } from './src/index.ts'
const payload = {to:'someone@example.com',subject:'hello there',n:12345,body:'x'.repeat(40)}
const noop = defineTask<any, any>({ name: 'noop', run: async () => {} })
const g = await openGleaner({ database: 'postgres://postgres:x@127.0.0.1:54400/g?schema=p'+Date.now(), tasks: [noop] })
g.on('problem', console.error)
const rate=(n:number,t:number)=>Math.round(n/(performance.now()-t)*1000)
let t=performance.now(); for (let i=0;i<300;i++) await g.enqueue(noop,payload); console.log('one by one', rate(300,t))
t=performance.now(); let n=20000; await Promise.all(Array.from({length:100},async()=>{while(n-->0) await g.enqueue(noop,payload)})); console.log('100 callers', rate(20000,t))
t=performance.now(); await g.enqueueMany(noop, Array.from({length:50000},()=>payload)); console.log('many', rate(50000,t))
t=performance.now(); const w=g.work({concurrency:10}); let d=0; await new Promise<void>(r=>g.on('completed',()=>{if(++d===50000)r()})); console.log('drain', rate(50000,t))
await w.drained(); console.log(await g.tasks.counts()); 
t=performance.now(); const h=await g.enqueue(noop,payload); await h.result(); console.log('roundtrip ms', performance.now()-t)
await g.close(); console.log('closed')
