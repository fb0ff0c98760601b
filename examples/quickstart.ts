console.log('Gleaner')
