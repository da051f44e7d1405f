console.log('counterpoint');
